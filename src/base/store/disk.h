// The system calls under the file store, so that tests can put a simulated disk there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hone {

// Every call returns a value >= 0, or -errno.
class Disk {
 public:
  enum class Open { kRead, kCreateNew, kAppend };  // kCreateNew: -EEXIST if it exists
  struct Stat {
    bool folder = false;
    int64_t bytes = 0;
    bool special = false;  // a pipe, a device: neither a folder nor a file of bytes
  };
  struct Entry {
    std::string name;
    bool folder = false;
    int64_t bytes = 0;
  };
  virtual ~Disk() = default;
  virtual int64_t open(const std::string& path, Open mode) = 0;  // a handle
  virtual int64_t close(int64_t handle) = 0;
  virtual int64_t bytes(int64_t handle) = 0;
  virtual int64_t read_at(int64_t handle, int64_t offset, std::span<std::byte> out) = 0;
  virtual int64_t write(int64_t handle, std::span<const std::byte> in) = 0;  // may be short
  virtual int64_t sync(int64_t handle) = 0;
  virtual int64_t stat(const std::string& path, Stat& out) = 0;
  virtual int64_t list(const std::string& path, std::vector<Entry>& out) = 0;
  virtual int64_t rename(const std::string& from, const std::string& to) = 0;
  virtual int64_t unlink(const std::string& path) = 0;
  virtual int64_t remove_folder(const std::string& path) = 0;
  virtual int64_t make_folder(const std::string& path) = 0;
  virtual int64_t sync_folder(const std::string& path) = 0;
};

// The machine's file system.
Disk& machine_disk();

// A file system in memory that forgets unsynced changes at a power loss: unsynced file contents get
// any torn state, and each change of a folder since its sync_folder is kept or lost on its own.
// Faults are counted in operations (every call of Disk but close).
class SimulatedDisk : public Disk {
 public:
  SimulatedDisk();
  ~SimulatedDisk() override;

  // Operation number `nth` from now (0 = the next) fails with `code` (EIO, ENOSPC ...).
  void fail_at(int64_t nth, int code);
  // At operation `nth` from now the power fails: it and all later ones fail until power_on().
  void lose_power_at(int64_t nth);
  // Comes back with everything durable, and a part of the rest that `seed` chooses.
  void power_on(uint64_t seed);
  void set_capacity(int64_t bytes);       // further writes fail with ENOSPC
  void set_longest_write(int64_t bytes);  // a write takes at most this number of bytes
  int64_t operations() const;             // since the start

  int64_t open(const std::string& path, Open mode) override;
  int64_t close(int64_t handle) override;
  int64_t bytes(int64_t handle) override;
  int64_t read_at(int64_t handle, int64_t offset, std::span<std::byte> out) override;
  int64_t write(int64_t handle, std::span<const std::byte> in) override;
  int64_t sync(int64_t handle) override;
  int64_t stat(const std::string& path, Stat& out) override;
  int64_t list(const std::string& path, std::vector<Entry>& out) override;
  int64_t rename(const std::string& from, const std::string& to) override;
  int64_t unlink(const std::string& path) override;
  int64_t remove_folder(const std::string& path) override;
  int64_t make_folder(const std::string& path) override;
  int64_t sync_folder(const std::string& path) override;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace hone
