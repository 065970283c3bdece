// SPDX-License-Identifier: MIT
// buffered_reader and buffered_writer.
#pragma once

#include <weir/io/buffered_reader.hpp>
#include <weir/io/buffered_writer.hpp>
