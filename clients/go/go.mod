module weir.example/worker

go 1.19
