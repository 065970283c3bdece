// SPDX-License-Identifier: MIT
// Real programs to test against: nginx, curl, wrk, scripts for Node and Python, Chromium.
#pragma once

#include "peers/browser.hpp"
#include "peers/nginx.hpp"
#include "peers/program.hpp"
#include "peers/tools.hpp"
