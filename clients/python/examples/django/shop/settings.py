"""The settings of a small shop. Its mail goes over SMTP, as in production."""

SECRET_KEY = "only for this example"
ALLOWED_HOSTS = ["testserver"]
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_FROM_EMAIL = "shop@app.example"
