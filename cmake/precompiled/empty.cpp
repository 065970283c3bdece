// SPDX-License-Identifier: MIT
// Empty: the target that owns the precompiled header needs one source to compile.
