// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"time"
)

// handle runs a task of one of the kinds that main registers.
func handle(ctx context.Context, each task) (any, error) {
	if each.Kind == "wait" {
		select {
		case <-ctx.Done(): // cancelled
			return nil, ctx.Err()
		case <-time.After(time.Minute):
			return "done", nil
		}
	}
	var input struct{ Text string }
	if err := json.Unmarshal(each.Payload, &input); err != nil {
		return nil, err
	}
	return object{"text": input.Text + "!"}, nil
}
