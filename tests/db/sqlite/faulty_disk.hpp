// SPDX-License-Identifier: MIT
// A disk that fails on command: SQLite's own, with a hand on every write. It keeps nothing safe
// from power cuts, so that tests do not wait for a real disk.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <new>
#include <stdexcept>

namespace sqlite_test {

// As long as it lives, all databases that are opened are on it.
class faulty_disk {
public:
    faulty_disk() : real_(sqlite3_vfs_find(nullptr)), own_(*real_) {
        own_.zName = "weir-faulty";
        own_.szOsFile = static_cast<int>(sizeof(file)) + real_->szOsFile;
        own_.pAppData = this;
        own_.xOpen = &open;
        if (sqlite3_vfs_register(&own_, 1) != SQLITE_OK) {
            throw std::runtime_error("no VFS can be registered");
        }
    }
    faulty_disk(const faulty_disk&) = delete;
    faulty_disk& operator=(const faulty_disk&) = delete;
    ~faulty_disk() {
        sqlite3_vfs_unregister(&own_);
        sqlite3_vfs_register(real_, 1);
    }

    // The one of that number from now on, counted from 0, of all writes, truncations and syncs
    // fails with that code; with -1 none does.
    void fail(int which, int code) {
        code_ = code;
        left_ = which;
    }
    // The next sync of a log fails.
    void fail_sync() { fails_sync_ = true; }
    int syncs() const { return syncs_; }  // so far
    bool has_failed() const { return left_ < 0; }
    // Files that are opened from now on can only be read, as if their modes said so.
    void refuse_writing(bool refuses) { refuses_writing_ = refuses; }

private:
    struct file {
        sqlite3_file base;
        faulty_disk* on;
        sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
    };

    static file& file_of(sqlite3_file* memory) { return *reinterpret_cast<file*>(memory); }
    // What the operation ends with, unless it is to be done.
    int turn() { return left_-- == 0 ? code_.load() : SQLITE_OK; }

    static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* memory, int flags, int* got) {
        auto* const own = static_cast<faulty_disk*>(vfs->pAppData);
        file& opened = *new (memory) file{{nullptr}, own};
        if (own->refuses_writing_) {
            flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
        }
        const int result = own->real_->xOpen(own->real_, name, opened.real(), flags, got);
        if (result == SQLITE_OK) {
            opened.base.pMethods = methods();
        }
        return result;
    }

    static const sqlite3_io_methods* methods() {
        static const sqlite3_io_methods all = {
            .iVersion = 2,
            .xClose =
                [](sqlite3_file* f) {
                    return file_of(f).real()->pMethods->xClose(file_of(f).real());
                },
            .xRead =
                [](sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
                    return file_of(f).real()->pMethods->xRead(file_of(f).real(), to, size, at);
                },
            .xWrite =
                [](sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
                    const int fault = file_of(f).on->turn();
                    // Half of it arrives.
                    const int written = file_of(f).real()->pMethods->xWrite(
                        file_of(f).real(), from, fault == SQLITE_OK ? size : size / 2, at);
                    return fault == SQLITE_OK ? written : fault;
                },
            .xTruncate =
                [](sqlite3_file* f, sqlite3_int64 size) {
                    const int fault = file_of(f).on->turn();
                    return fault == SQLITE_OK
                               ? file_of(f).real()->pMethods->xTruncate(file_of(f).real(), size)
                               : fault;
                },
            .xSync =
                [](sqlite3_file* f, int) {
                    ++file_of(f).on->syncs_;
                    return file_of(f).on->fails_sync_.exchange(false) ? SQLITE_IOERR_FSYNC
                                                                      : file_of(f).on->turn();
                },
            .xFileSize =
                [](sqlite3_file* f, sqlite3_int64* size) {
                    return file_of(f).real()->pMethods->xFileSize(file_of(f).real(), size);
                },
            .xLock =
                [](sqlite3_file* f, int kind) {
                    return file_of(f).real()->pMethods->xLock(file_of(f).real(), kind);
                },
            .xUnlock =
                [](sqlite3_file* f, int kind) {
                    return file_of(f).real()->pMethods->xUnlock(file_of(f).real(), kind);
                },
            .xCheckReservedLock =
                [](sqlite3_file* f, int* is_held) {
                    return file_of(f).real()->pMethods->xCheckReservedLock(file_of(f).real(),
                                                                           is_held);
                },
            .xFileControl =
                [](sqlite3_file* f, int what, void* argument) {
                    return file_of(f).real()->pMethods->xFileControl(file_of(f).real(), what,
                                                                     argument);
                },
            .xSectorSize =
                [](sqlite3_file* f) {
                    return file_of(f).real()->pMethods->xSectorSize(file_of(f).real());
                },
            .xDeviceCharacteristics =
                [](sqlite3_file* f) {
                    return file_of(f).real()->pMethods->xDeviceCharacteristics(file_of(f).real());
                },
            .xShmMap =
                [](sqlite3_file* f, int page, int size, int extend, void volatile** at) {
                    return file_of(f).real()->pMethods->xShmMap(file_of(f).real(), page, size,
                                                                extend, at);
                },
            .xShmLock =
                [](sqlite3_file* f, int first, int count, int kind) {
                    return file_of(f).real()->pMethods->xShmLock(file_of(f).real(), first, count,
                                                                 kind);
                },
            .xShmBarrier =
                [](sqlite3_file* f) {
                    file_of(f).real()->pMethods->xShmBarrier(file_of(f).real());
                },
            .xShmUnmap =
                [](sqlite3_file* f, int deletes) {
                    return file_of(f).real()->pMethods->xShmUnmap(file_of(f).real(), deletes);
                },
            .xFetch = nullptr,
            .xUnfetch = nullptr,
        };
        return &all;
    }

    sqlite3_vfs* real_;
    sqlite3_vfs own_;
    std::atomic<int> left_{-1};
    std::atomic<int> code_{SQLITE_OK};
    std::atomic<bool> refuses_writing_{false};
    std::atomic<bool> fails_sync_{false};
    std::atomic<int> syncs_{0};
};

}  // namespace sqlite_test
