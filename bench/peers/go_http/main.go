// SPDX-License-Identifier: MIT
//
// net/http in suite http, on one processor:
//
//	bench_go_http server
//	bench_go_http client PORT CONCURRENCY WARM_UP_SECONDS SECONDS

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() {
	body := []byte("Hello, World!")
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Server", "go")
		w.Write(body)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	fail(err)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	mux := http.NewServeMux()
	mux.HandleFunc("/", handler)
	fail(http.Serve(listener, mux))
}

func load(port string, concurrency int, warmUp, seconds float64) {
	url := "http://127.0.0.1:" + port + "/"
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConns:        concurrency,
		MaxIdleConnsPerHost: concurrency,
	}}
	var requests atomic.Int64
	for i := 0; i < concurrency; i++ {
		go func() {
			for {
				response, err := client.Get(url)
				fail(err)
				body, err := io.ReadAll(response.Body)
				fail(err)
				response.Body.Close()
				if response.StatusCode != 200 || len(body) == 0 {
					fail(fmt.Errorf("status %d", response.StatusCode))
				}
				requests.Add(1)
			}
		}()
	}
	time.Sleep(time.Duration(warmUp * 1e9))
	fmt.Println("ready")
	before, began := requests.Load(), time.Now()
	time.Sleep(time.Duration(seconds * 1e9))
	fmt.Printf("{\"requests\": %d, \"seconds\": %.6f}\n", requests.Load()-before, time.Since(began).Seconds())
	time.Sleep(100 * time.Millisecond) // until its times have been read
}

func main() {
	runtime.GOMAXPROCS(1)
	if len(os.Args) == 2 && os.Args[1] == "server" {
		serve()
	} else if len(os.Args) == 6 && os.Args[1] == "client" {
		concurrency, err := strconv.Atoi(os.Args[3])
		fail(err)
		warmUp, err := strconv.ParseFloat(os.Args[4], 64)
		fail(err)
		seconds, err := strconv.ParseFloat(os.Args[5], 64)
		fail(err)
		load(os.Args[2], concurrency, warmUp, seconds)
	} else {
		os.Exit(64)
	}
}
