// SPDX-License-Identifier: MIT
// A disk that can lose its power. Files below a folder are real, and beside them the disk keeps
// what a real one would have kept: the content at the last sync, and the writes since then, of
// which a power failure may keep any, in any order, and parts of one. Images of that are taken in
// front of chosen writes and syncs, while the program under test runs on.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace power_loss {

// What is on the disk when the power comes back: names and contents.
using disk_image = std::map<std::string, std::string>;

inline void write_image(const disk_image& image, const std::filesystem::path& folder) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    for (const auto& [name, content] : image) {
        std::ofstream(folder / name, std::ios::binary) << content;
    }
}

// A file as the disk keeps it. Sectors are written whole or not at all.
class kept_file {
public:
    void write(std::int64_t offset, std::string_view bytes) {
        unsynced_.push_back({offset, std::string(bytes)});
    }
    void truncate(std::int64_t size) { unsynced_.push_back({size, std::nullopt}); }
    void sync() {
        for (const change& each : unsynced_) {
            apply(each, synced_);
        }
        unsynced_.clear();
        is_lasting_ = true;
    }
    // False: the failure came before its name was on the disk.
    bool content_after_failure(std::mt19937& random, std::string& content) const {
        if (!is_lasting_ && random() % 2 == 0) {
            return false;
        }
        content = synced_;
        const unsigned kind = random() % 4;
        const std::size_t first = unsynced_.empty() ? 0 : random() % (unsynced_.size() + 1);
        for (std::size_t i = 0; i < unsynced_.size(); ++i) {
            const bool is_kept = kind == 0   ? false
                                 : kind == 1 ? true
                                 : kind == 2 ? i < first
                                             : random() % 2 == 0;
            if (is_kept) {
                apply(unsynced_[i], content);
            } else if (kind == 2 && i == first) {
                tear(unsynced_[i], content, random);
            }
        }
        return true;
    }

private:
    static constexpr std::size_t sector = 512;
    struct change {
        std::int64_t offset;               // or the new size
        std::optional<std::string> bytes;  // empty: a truncation
    };

    static void apply(const change& done, std::string& to) {
        const auto offset = static_cast<std::size_t>(done.offset);
        if (!done.bytes) {
            to.resize(offset);
            return;
        }
        to.resize(std::max(to.size(), offset + done.bytes->size()));
        to.replace(offset, done.bytes->size(), *done.bytes);
    }
    static void tear(const change& done, std::string& to, std::mt19937& random) {
        if (!done.bytes) {
            return;
        }
        const std::int64_t end = done.offset + static_cast<std::int64_t>(done.bytes->size());
        for (std::int64_t at = done.offset; at < end;) {
            const std::int64_t next = std::min<std::int64_t>(end, at - at % sector + sector);
            if (random() % 2 == 0) {
                apply({at, done.bytes->substr(static_cast<std::size_t>(at - done.offset),
                                              static_cast<std::size_t>(next - at))},
                      to);
            }
            at = next;
        }
    }

    std::string synced_;
    std::vector<change> unsynced_;
    bool is_lasting_ = false;  // its name is on the disk
};

// SQLite's default file system as long as it exists.
class disk {
public:
    // Called on the thread that is about to write or sync, for each such step.
    using step = std::function<void(disk&)>;

    disk(std::filesystem::path folder, step before_each)
        : folder_(std::move(folder)), before_each_(std::move(before_each)) {
        real_ = sqlite3_vfs_find(nullptr);
        vfs_ = *real_;
        vfs_.zName = "power-loss";
        vfs_.pAppData = this;
        vfs_.szOsFile = static_cast<int>(sizeof(open_file)) + real_->szOsFile;
        vfs_.xOpen = &open;
        vfs_.xDelete = &remove;
        methods_.iVersion = 2;  // without memory maps
        forward(methods_);
        sqlite3_vfs_register(&vfs_, 1);
    }
    disk(const disk&) = delete;
    disk& operator=(const disk&) = delete;
    ~disk() {
        sqlite3_vfs_unregister(&vfs_);
        sqlite3_vfs_register(real_, 1);
    }

    // A mistake to be found: syncs of the log do nothing.
    void ignore_syncs_of_the_log() { ignores_log_ = true; }
    disk_image image_after_failure(std::mt19937& random) {
        const std::lock_guard lock(mutex_);
        disk_image image;
        for (const auto& [path, file] : files_) {
            std::string content;
            if (file.content_after_failure(random, content)) {
                image[std::filesystem::path(path).filename()] = std::move(content);
            }
        }
        return image;
    }

private:
    // Followed in memory by the file of the real file system.
    struct open_file {
        sqlite3_file base;
        disk* on;
        kept_file* kept;  // null: not followed
        bool is_log;

        static open_file& of(sqlite3_file* file) { return *reinterpret_cast<open_file*>(file); }
        static sqlite3_file* real(sqlite3_file* file) {
            return reinterpret_cast<sqlite3_file*>(reinterpret_cast<open_file*>(file) + 1);
        }
    };

    template <class Change>
    static void change(sqlite3_file* file, Change apply) {
        open_file& own = open_file::of(file);
        if (own.kept != nullptr) {
            own.on->before_each_(*own.on);
            const std::lock_guard lock(own.on->mutex_);
            apply(*own.kept);
        }
    }
    static int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
        change(file, [&](kept_file& kept) {
            kept.write(offset, {static_cast<const char*>(bytes), static_cast<std::size_t>(count)});
        });
        sqlite3_file* const real = open_file::real(file);
        return real->pMethods->xWrite(real, bytes, count, offset);
    }
    static int truncate(sqlite3_file* file, sqlite3_int64 size) {
        change(file, [&](kept_file& kept) { kept.truncate(size); });
        sqlite3_file* const real = open_file::real(file);
        return real->pMethods->xTruncate(real, size);
    }
    static int sync(sqlite3_file* file, int flags) {
        open_file& own = open_file::of(file);
        if (own.kept == nullptr) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xSync(real, flags);
        }
        change(file, [&](kept_file& kept) {
            if (!own.is_log || !own.on->ignores_log_) {
                kept.sync();
            }
        });
        return SQLITE_OK;
    }
    static int close(sqlite3_file* file) {
        sqlite3_file* const real = open_file::real(file);
        return real->pMethods->xClose(real);
    }

    static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags,
                    int* flags_out) {
        disk& own = *static_cast<disk*>(vfs->pAppData);
        open_file& opened = open_file::of(file);
        opened.base.pMethods = nullptr;
        sqlite3_file* const real = open_file::real(file);
        const int result = own.real_->xOpen(own.real_, name, real, flags, flags_out);
        if (result != SQLITE_OK) {
            return result;
        }
        const bool is_followed =
            name != nullptr && std::filesystem::path(name).parent_path() == own.folder_;
        const std::lock_guard lock(own.mutex_);
        opened.on = &own;
        opened.kept = is_followed ? &own.files_[name] : nullptr;
        opened.is_log = (flags & SQLITE_OPEN_WAL) != 0;
        opened.base.pMethods = &own.methods_;
        return SQLITE_OK;
    }
    static int remove(sqlite3_vfs* vfs, const char* name, int must_sync) {
        disk& own = *static_cast<disk*>(vfs->pAppData);
        {
            const std::lock_guard lock(own.mutex_);
            own.files_.erase(name);
        }
        return own.real_->xDelete(own.real_, name, must_sync);
    }

    // The calls that change nothing go to the real file.
    static void forward(sqlite3_io_methods& to) {
        to.xClose = &close;
        to.xWrite = &write;
        to.xTruncate = &truncate;
        to.xSync = &sync;
        to.xRead = [](sqlite3_file* file, void* bytes, int count, sqlite3_int64 offset) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xRead(real, bytes, count, offset);
        };
        to.xFileSize = [](sqlite3_file* file, sqlite3_int64* size) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xFileSize(real, size);
        };
        to.xLock = [](sqlite3_file* file, int level) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xLock(real, level);
        };
        to.xUnlock = [](sqlite3_file* file, int level) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xUnlock(real, level);
        };
        to.xCheckReservedLock = [](sqlite3_file* file, int* result) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xCheckReservedLock(real, result);
        };
        to.xFileControl = [](sqlite3_file* file, int what, void* argument) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xFileControl(real, what, argument);
        };
        to.xSectorSize = [](sqlite3_file* file) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xSectorSize(real);
        };
        to.xDeviceCharacteristics = [](sqlite3_file* file) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xDeviceCharacteristics(real);
        };
        to.xShmMap = [](sqlite3_file* file, int page, int size, int extend,
                        void volatile** mapped) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xShmMap(real, page, size, extend, mapped);
        };
        to.xShmLock = [](sqlite3_file* file, int offset, int count, int flags) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xShmLock(real, offset, count, flags);
        };
        to.xShmBarrier = [](sqlite3_file* file) {
            sqlite3_file* const real = open_file::real(file);
            real->pMethods->xShmBarrier(real);
        };
        to.xShmUnmap = [](sqlite3_file* file, int erase) {
            sqlite3_file* const real = open_file::real(file);
            return real->pMethods->xShmUnmap(real, erase);
        };
    }

    std::filesystem::path folder_;
    step before_each_;
    sqlite3_vfs* real_ = nullptr;
    sqlite3_vfs vfs_{};
    std::mutex mutex_;
    std::map<std::string, kept_file> files_;
    sqlite3_io_methods methods_{};
    bool ignores_log_ = false;
};

}  // namespace power_loss
