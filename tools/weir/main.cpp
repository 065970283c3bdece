// SPDX-License-Identifier: MIT
// weir: the task service and its commands, without handlers of a user.

#include <weir/program/program.hpp>

int main(int argc, char** argv) {
    weir::program::definition weir;
    weir.name = "weir";
    return weir::program::run(argc, argv, weir);
}
