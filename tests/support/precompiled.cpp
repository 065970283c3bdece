// SPDX-License-Identifier: MIT
//
// Empty on purpose: the target that owns the precompiled header needs one source to compile.
