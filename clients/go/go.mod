module github.com/restante/restante/clients/go

go 1.25
