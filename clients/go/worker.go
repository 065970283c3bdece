// SPDX-License-Identifier: MIT

// A worker of the Weir task service without a library: docs/own-worker.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math/rand"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const places = 8 // tasks at a time

type object = map[string]any
type key struct {
	ID  string `json:"id"`
	Run int    `json:"run"`
}
type task struct {
	key
	Kind    string
	Payload json.RawMessage
}

var (
	mutex sync.Mutex
	held  = map[key]context.CancelFunc{} // from the poll's answer until the result is delivered
	room  = make(chan bool, places)      // an entry for each of them
	news  = make(chan bool, 1)           // a heartbeat is to be sent now
	over  atomic.Bool                    // the session is being ended
	done  int                            // the last poll that was answered
	life  struct {
		Worker                 string
		Lease, Heartbeat, Wait float64
	}
)

// once sends a request; the status is 0 if no complete answer came in time.
func once(method, path string, seconds float64, body, answer any) int {
	data, _ := json.Marshal(body)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds*1e9))
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, method, os.Getenv("WEIR_SERVER")+path, bytes.NewReader(data))
	request.Header.Set("Content-Type", "application/json")
	if token := os.Getenv("WEIR_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	if response.StatusCode == 410 && !over.Load() {
		log.Fatal("the session is over: the supervisor starts this worker anew")
	}
	if response.StatusCode/100 == 2 && response.StatusCode != 204 {
		if json.NewDecoder(response.Body).Decode(answer) != nil {
			return 0
		}
	}
	return response.StatusCode
}

// ask repeats a request until the service accepts or refuses it.
func ask(path string, seconds float64, body, answer any) int {
	for most := 100; ; most = most * 2 % 12700 {
		if status := once("POST", path, seconds, body, answer); status/100 == 2 || status/100 == 4 {
			return status
		}
		time.Sleep(time.Duration(most/2+rand.Intn(most/2)) * time.Millisecond)
	}
}

func poll(number int) {
	room <- true // wait for a place, then ask for all that are free
	free := places - len(room) + 1
	<-room
	var answer struct{ Tasks []task }
	status := ask(life.Worker+"/poll", life.Wait+10, object{"poll": number, "free": free, "wait": life.Wait}, &answer)
	if status == 204 && len(news) == 0 {
		news <- true // something may have been cancelled
	}
	for _, each := range answer.Tasks {
		ctx, cancel := context.WithCancel(context.Background())
		mutex.Lock()
		held[each.key] = cancel
		mutex.Unlock()
		room <- true
		go run(ctx, each)
	}
	mutex.Lock()
	done = number
	mutex.Unlock()
}

func run(ctx context.Context, each task) {
	value, err := handle(ctx, each)
	result := object{"id": each.ID, "run": each.Run, "outcome": "completed", "result": value}
	if ctx.Err() != nil {
		result = object{"id": each.ID, "run": each.Run, "outcome": "cancelled"}
	} else if err != nil {
		result = object{"id": each.ID, "run": each.Run, "outcome": "failed", "error": err.Error()}
	}
	ask(life.Worker+"/results", 10, []object{result}, &[]object{})
	mutex.Lock()
	delete(held, each.key)
	mutex.Unlock()
	<-room
}

func beat() {
	for renewed := time.Now(); ; {
		select {
		case <-news:
		case <-time.After(time.Duration(life.Heartbeat * 1e9)):
		}
		running, sent := []key{}, time.Now() // the lease counts from before the request
		mutex.Lock()
		for each := range held {
			running = append(running, each)
		}
		body := object{"running": running, "free": places - len(running), "poll_age": 0, "answered_poll": done}
		mutex.Unlock()
		var answer struct{ Cancel, Lost []key }
		if once("POST", life.Worker+"/heartbeat", life.Lease/4, body, &answer) == 200 {
			renewed = sent
		} else if time.Since(renewed).Seconds() > life.Lease-life.Heartbeat {
			log.Fatal("the lease is over: others may run the tasks by now")
		}
		mutex.Lock()
		for _, each := range append(answer.Cancel, answer.Lost...) {
			if cancel := held[each]; cancel != nil {
				cancel()
			}
		}
		mutex.Unlock()
	}
}

func main() {
	name := fmt.Sprintf("go/%d", os.Getpid())
	if status := ask("/workers", 10, object{"name": name, "kinds": []string{"shout", "wait"}}, &life); status != 201 {
		log.Fatalf("the service refuses this worker: %d", status)
	}
	life.Worker = "/workers/" + life.Worker
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	go beat()
	go func() {
		<-ctx.Done()
		ask(life.Worker+"/drain", 5, nil, nil) // ends the open poll; what it got is run
	}()
	for number := 1; ctx.Err() == nil; number++ {
		poll(number)
	}
	for until := time.Now().Add(25 * time.Second); len(room) > 0 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	over.Store(true)
	once("DELETE", life.Worker, 5, nil, nil) // what still runs is given back
}
