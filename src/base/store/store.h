// An interface to files, wherever they are: on this machine, in memory, on the web or in an object store. hone reads
// and writes files only through a Store, so tests can inject faults (disk.h).
//   Store& files = file_store();
//   std::string text = HONE_TRY(files.read("config.json"));
//   HONE_TRY(files.write("out/config.json", text));   // durable and all or nothing
// Paths use '/'. Several threads may use a Store at once; a Writer belongs to one thread at a time. Errors name the
// path:
//   H0101  the file or folder does not exist           H0105  the file ends before the requested bytes
//   H0102  permission is denied                        H0106  the store does not support the call or the path
//   H0103  no space is left                            H0107  a server cannot be reached
//   H0104  another failure of reading or writing       H0108  a server refuses the request
//   H0118  the file exists already (create_new)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "base/store/disk.h"

namespace hone {

class Reader {
 public:
  virtual ~Reader() = default;
  virtual int64_t bytes() const = 0;  // the size of the file
  // Fills `out` with the bytes from `offset` on. Error H0105 if the file ends before `out` is full.
  virtual Status read(int64_t offset, std::span<std::byte> out) = 0;
};

class Writer {
 public:
  // The destructor of a writer from create() removes the written bytes unless commit() was called.
  virtual ~Writer() = default;
  // Appends bytes. It is a Bug to call this after commit().
  virtual Status write(std::span<const std::byte> bytes) = 0;
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  // Makes the written bytes survive a power loss. A file from create() appears under its name only after commit().
  virtual Status sync() = 0;
  // Ends writing. Writer of create(): makes the whole file appear under its name, durably; if that fails, the former
  // file stays. Writer of append(): syncs and closes the file.
  virtual Status commit() = 0;
  // Like commit(), but a power loss soon afterwards may remove the file. For copies that can be made again.
  virtual Status publish() { return commit(); }
};

class Store {
 public:
  struct Entry {
    std::string name;
    bool folder = false;
    int64_t bytes = 0;
  };
  struct Info {
    bool exists = false;
    bool folder = false;
    int64_t bytes = 0;
  };
  virtual ~Store() = default;

  // Looks at a path. A path that does not exist is not an Error: exists is false.
  virtual Result<Info> info(const std::string& path) = 0;
  virtual Result<std::unique_ptr<Reader>> open(const std::string& path) = 0;  // for reading
  // The files and folders directly in `folder`, sorted by name, without temporary files of unfinished writes.
  virtual Result<std::vector<Entry>> list(const std::string& folder) = 0;

  // Starts to write a file. Writer::commit() makes it appear and replaces an existing file.
  virtual Result<std::unique_ptr<Writer>> create(const std::string& path) = 0;
  // Like create(), but never replaces a file: create_new() or commit() fails with H0118 if the file exists. If the
  // store supports it, check and commit are one step, so only one of two programs succeeds.
  virtual Result<std::unique_ptr<Writer>> create_new(const std::string& path);
  // Starts to write at the end of a file, which is created if it does not exist.
  virtual Result<std::unique_ptr<Writer>> append(const std::string& path) = 0;
  // Renames a file or folder, atomically and durably. Replaces a file or an empty folder at `to`. (A folder of an
  // object store is moved file by file.)
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  // Copies a file, completely or not at all. The store itself makes the copy if it can.
  virtual Status copy(const std::string& from, const std::string& to);
  virtual Status remove(const std::string& path) = 0;  // a file or an empty folder
  // Removes a folder and everything in it. Links are removed, not followed. A path that does not exist is not an Error.
  // Not atomic: if that matters, rename the folder first.
  virtual Status remove_all(const std::string& path) = 0;
  virtual Status make_dirs(const std::string& path) = 0;  // makes a folder and its parents
  // Removes temporary files in the folder that killed programs have left. No program may be writing there.
  virtual Status remove_unfinished(const std::string& folder) = 0;
  // Returns false if a folder at this path is only a common prefix of names, as in an object store. Renaming it then
  // takes many steps, and files in it appear one by one.
  virtual bool renames_folders_at_once(const std::string&) { return true; }

  Result<bool> exists(const std::string& path);
  Result<int64_t> bytes(const std::string& path);
  Result<std::string> read(const std::string& path);  // the whole file
  // `bytes` bytes from `offset` on. Error H0105 if the file ends before the last of them.
  Result<std::string> read(const std::string& path, int64_t offset, int64_t bytes);
  // Writes the whole file: create(), Writer::write() and Writer::commit().
  Status write(const std::string& path, std::string_view bytes);
};

// The store of the process: the machine's files. The program hone replaces it by Places
// (base/store/places/places.h), which also has URLs.
Store& file_store();
// Look at file_store(). A failure, such as a server that cannot be reached, counts as false or as an empty list.
bool path_exists(const std::string& path);
bool is_file(const std::string& path);
bool is_folder(const std::string& path);
std::vector<std::string> names_in(const std::string& folder);  // sorted

// Makes `store` the file_store() until this object is destroyed. `store` must outlive it. Create and destroy it while
// no other thread uses file_store().
class FileStoreInstead {
 public:
  explicit FileStoreInstead(Store& store);
  ~FileStoreInstead();
  FileStoreInstead(const FileStoreInstead&) = delete;

 private:
  Store* before_;
};
// Files on `disk`, which must outlive the store.
std::unique_ptr<Store> make_file_store(Disk& disk);
// Files in memory, without faults.
std::unique_ptr<Store> make_memory_store();

}  // namespace hone
