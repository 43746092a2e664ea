// The system calls of the file store (base/store/store.h) as an interface, so that tests can replace the disk by a
// simulated one that fails or loses power.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hone {

// Every call returns a value >= 0 on success, and -errno on failure. The value is 0 unless stated otherwise.
class Disk {
 public:
  // kCreateNew fails with -EEXIST if the file exists. kAppend creates the file if it does not exist.
  enum class Open { kRead, kCreateNew, kAppend };
  struct Stat {
    bool folder = false;
    int64_t bytes = 0;
    bool special = false;  // a pipe or a device: neither a folder nor a regular file
  };
  struct Entry {
    std::string name;
    bool folder = false;
    int64_t bytes = 0;
  };
  virtual ~Disk() = default;
  virtual int64_t open(const std::string& path, Open mode) = 0;  // returns a handle
  virtual int64_t close(int64_t handle) = 0;
  virtual int64_t bytes(int64_t handle) = 0;  // returns the size of the file
  // Returns the number of bytes that were read, which may be less than asked; 0 at the end of the file.
  virtual int64_t read_at(int64_t handle, int64_t offset, std::span<std::byte> out) = 0;
  // Appends bytes. Returns the number that was written, which may be less than given.
  virtual int64_t write(int64_t handle, std::span<const std::byte> in) = 0;
  virtual int64_t sync(int64_t handle) = 0;  // the file's contents survive a power loss
  virtual int64_t stat(const std::string& path, Stat& out) = 0;
  virtual int64_t list(const std::string& path, std::vector<Entry>& out) = 0;  // in any order
  virtual int64_t rename(const std::string& from, const std::string& to) = 0;  // replaces `to`
  virtual int64_t unlink(const std::string& path) = 0;
  virtual int64_t remove_folder(const std::string& path) = 0;
  virtual int64_t make_folder(const std::string& path) = 0;
  virtual int64_t sync_folder(const std::string& path) = 0;  // names in it survive a power loss
};

// The machine's file system.
Disk& machine_disk();

// A file system in memory that simulates faults and power losses. At a power loss, the contents of a file that is not
// synced become a random mixture of old and new, and each change of names in a folder since its last sync_folder() is
// kept or lost. Every call of Disk except close() counts as an operation.
class SimulatedDisk : public Disk {
 public:
  SimulatedDisk();
  ~SimulatedDisk() override;

  // Operation number `nth` from now (0: the next one) fails with the errno `code` (EIO, ENOSPC ...).
  void fail_at(int64_t nth, int code);
  // The power fails at operation number `nth` from now: this operation and all later ones fail until power_on().
  void lose_power_at(int64_t nth);
  // Ends the power loss. Synced data is there; `seed` chooses the state of the other data.
  void power_on(uint64_t seed);
  void set_capacity(int64_t bytes);       // writes beyond this size of the disk fail with ENOSPC
  void set_longest_write(int64_t bytes);  // a write takes at most this number of bytes
  int64_t operations() const;             // the number of operations so far

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
