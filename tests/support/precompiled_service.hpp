// SPDX-License-Identifier: MIT
// Precompiled for the tests of the service, on top of what all tests have.
#pragma once

#include "precompiled.hpp"

#include <weir/http/client.hpp>
#include <weir/http/json.hpp>
#include <weir/service/api.hpp>
#include <weir/service/memory_store.hpp>
#include <weir/service/service.hpp>
#include <weir/service/sqlite_store.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <map>
#include <set>
