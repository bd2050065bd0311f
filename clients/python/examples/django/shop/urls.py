"""A visitor signs up, and opens the link that is mailed to confirm the account."""

from django.contrib.auth.models import User
from django.core import signing
from django.core.mail import send_mail
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path


def sign_up(request: HttpRequest) -> HttpResponse:
    email = request.POST["email"]
    user = User.objects.create_user(email, email, is_active=False)
    link = request.build_absolute_uri(f"/confirm?token={signing.dumps(user.pk)}")
    send_mail("Confirm your account", f"Welcome to the shop!\n\nOpen {link}", None, [email])
    return HttpResponse("Look into your mail.")


def confirm(request: HttpRequest) -> HttpResponse:
    user = get_object_or_404(User, pk=signing.loads(request.GET["token"]))
    user.is_active = True
    user.save()
    return HttpResponse(f"Welcome, {user.email}")


urlpatterns = [path("sign-up", sign_up), path("confirm", confirm)]
