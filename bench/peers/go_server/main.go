// SPDX-License-Identifier: MIT
//
// The servers of suite io with a goroutine per connection, on one processor.

package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
)

func echo(connection net.Conn) {
	defer connection.Close()
	buffer := make([]byte, 1024)
	for {
		count, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if _, err = connection.Write(buffer[:count]); err != nil {
			return
		}
	}
}

func discard(connection net.Conn) {
	defer connection.Close()
	buffer := make([]byte, 64*1024)
	received := 0
	for {
		count, err := connection.Read(buffer)
		received += count
		if err != nil {
			break
		}
	}
	fmt.Fprintln(connection, received)
}

func main() {
	if len(os.Args) != 2 || (os.Args[1] != "echo" && os.Args[1] != "stream") {
		fmt.Fprintln(os.Stderr, "usage: bench_go_server echo|stream")
		os.Exit(64)
	}
	serve := echo
	if os.Args[1] == "stream" {
		serve = discard
	}
	runtime.GOMAXPROCS(1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	for {
		connection, err := listener.Accept() // sets TCP_NODELAY itself
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go serve(connection)
	}
}
