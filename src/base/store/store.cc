// Shared parts of all stores, and the file store over a Disk.
// Durable write: <folder>/.<name>.<n>.hone-tmp is created, written, synced; then renamed; then the
// folder is synced. A power loss leaves the old file or the new one, and at worst a temporary file
// beside it, which list() hides.
#include "base/store/store.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/rename_new.h"
#include "base/store/store_failure.h"

namespace hone {
namespace {

constexpr std::string_view kTemporary = ".hone-tmp";

std::string parent_of(const std::string& path) {
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}
std::string name_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

Error exists_already(const std::string& path) {
  return Error(err::kLostRace, fmt::format("'{}' exists already", path))
      .todo("see whether two runs use the same folder");
}

class FileReader : public Reader {
 public:
  FileReader(Disk& disk, int64_t handle, int64_t bytes, std::string path)
      : disk_(disk), handle_(handle), bytes_(bytes), path_(std::move(path)) {}
  ~FileReader() override { disk_.close(handle_); }
  int64_t bytes() const override { return bytes_; }
  Status read(int64_t offset, std::span<std::byte> out) override {
    while (!out.empty()) {
      int64_t n = disk_.read_at(handle_, offset, out);
      if (n < 0) return store_failure(n, "read", path_);
      if (n == 0) {
        return Error(err::kStoreShort, fmt::format("'{}' ends at byte {}, {} more were expected",
                                                   path_, offset, out.size()))
            .todo("the file was cut off, perhaps by a broken copy: fetch it again");
      }
      out = out.subspan(static_cast<size_t>(n));
      offset += n;
    }
    return Ok{};
  }

 private:
  Disk& disk_;
  int64_t handle_, bytes_;
  std::string path_;
};

class FileWriter : public Writer {
 public:
  // `temporary` is "" when the file is appended to in place.
  FileWriter(Disk& disk, int64_t handle, std::string path, std::string temporary,
             bool is_new = false)
      : disk_(disk),
        handle_(handle),
        path_(std::move(path)),
        temporary_(std::move(temporary)),
        is_new_(is_new) {}
  ~FileWriter() override {
    if (handle_ >= 0) disk_.close(handle_);
    if (!temporary_.empty()) disk_.unlink(temporary_);
  }
  Status write(std::span<const std::byte> bytes) override {
    HONE_BUG_IF(handle_ < 0, "write to '{}' after its commit", path_);
    while (!bytes.empty()) {
      int64_t n = disk_.write(handle_, bytes);
      if (n == 0) n = -EIO;
      if (n < 0) return store_failure(n, "write", path_);
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return Ok{};
  }
  Status sync() override {
    int64_t r = disk_.sync(handle_);
    return r < 0 ? Status(store_failure(r, "write", path_)) : Ok{};
  }
  Status commit() override {
    HONE_BUG_IF(handle_ < 0, "'{}' is committed twice", path_);
    HONE_TRY(sync());
    HONE_TRY(publish());
    const int64_t r = disk_.sync_folder(parent_of(path_));
    return r < 0 ? Status(store_failure(r, "write", path_)) : Ok{};
  }
  Status publish() override {
    int64_t r = disk_.close(handle_);
    handle_ = -1;
    if (r < 0) return store_failure(r, "write", path_);
    if (!temporary_.empty()) {
      r = is_new_ ? rename_new(disk_, temporary_, path_) : disk_.rename(temporary_, path_);
      if (is_new_ && r == -EEXIST) return exists_already(path_);
      if (r < 0) return store_failure(r, "write", path_);
      temporary_.clear();
    }
    return Ok{};
  }

 private:
  Disk& disk_;
  int64_t handle_;
  std::string path_, temporary_;
  bool is_new_;  // never replaces a file
};

// /dev/stdout, /dev/fd/3, /proc/self/fd/3: what is open there may be a file. Others in /dev, as /dev/shm
// has, are files.
bool names_a_descriptor(const std::string& path) {
  return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

class FileStore : public Store {
 public:
  explicit FileStore(Disk& disk) : disk_(disk) {}

  Result<Info> info(const std::string& path) override {
    Disk::Stat s;
    int64_t r = disk_.stat(path, s);
    if (r == -ENOENT || r == -ENOTDIR) return Info{};
    if (r < 0) return store_failure(r, "look at", path);
    return Info{true, s.folder, s.bytes};
  }
  Result<std::unique_ptr<Reader>> open(const std::string& path) override {
    int64_t h = disk_.open(path, Disk::Open::kRead);
    if (h < 0) return store_failure(h, "read", path);
    int64_t bytes = disk_.bytes(h);
    if (bytes < 0) {
      disk_.close(h);
      return store_failure(bytes, "read", path);
    }
    return std::unique_ptr<Reader>(new FileReader(disk_, h, bytes, path));
  }
  Result<std::vector<Entry>> list(const std::string& folder) override {
    std::vector<Disk::Entry> raw;
    if (int64_t r = disk_.list(folder, raw); r < 0) return store_failure(r, "list", folder);
    std::vector<Entry> out;
    for (Disk::Entry& e : raw) {
      if (!e.name.ends_with(kTemporary)) out.push_back({std::move(e.name), e.folder, e.bytes});
    }
    std::sort(out.begin(), out.end(),
              [](const Entry& a, const Entry& b) { return a.name < b.name; });
    return out;
  }
  Result<std::unique_ptr<Writer>> create(const std::string& path) override {
    Disk::Stat there;
    const int64_t looked = disk_.stat(path, there);
    if (looked < 0 && looked != -ENOENT && looked != -ENOTDIR)
      return store_failure(looked, "write", path);
    if (looked >= 0 && (there.special || names_a_descriptor(path)))
      return append(path);  // a pipe or a device is written to, not replaced
    return temporary_for(path, false);
  }
  Result<std::unique_ptr<Writer>> create_new(const std::string& path) override {
    if (HONE_TRY(exists(path))) return exists_already(path);
    return temporary_for(path, true);
  }
  Result<std::unique_ptr<Writer>> append(const std::string& path) override {
    int64_t h = disk_.open(path, Disk::Open::kAppend);
    if (h < 0) return store_failure(h, "append to", path);
    return std::unique_ptr<Writer>(new FileWriter(disk_, h, path, ""));
  }
  Status rename(const std::string& from, const std::string& to) override {
    std::string a = without_end_slash(from), b = without_end_slash(to);
    int64_t r = disk_.rename(a, b);
    if (r < 0) return store_failure(r, fmt::format("rename to '{}'", b), a);
    r = disk_.sync_folder(parent_of(b));
    if (r >= 0 && parent_of(a) != parent_of(b)) r = disk_.sync_folder(parent_of(a));
    return r < 0 ? Status(store_failure(r, "rename", a)) : Ok{};
  }
  Status remove(const std::string& path) override {
    std::string p = without_end_slash(path);
    int64_t r = disk_.unlink(p);  // first, so that a link to a folder is only unlinked
    if (r == -EISDIR) r = disk_.remove_folder(p);
    if (r >= 0) r = disk_.sync_folder(parent_of(p));
    return r < 0 ? Status(store_failure(r, "remove", p)) : Ok{};
  }
  Status remove_all(const std::string& path) override {
    std::string p = without_end_slash(path);
    int64_t r = remove_tree(p);
    if (r == -ENOENT) return Ok{};
    if (r >= 0) r = disk_.sync_folder(parent_of(p));
    return r < 0 ? Status(store_failure(r, "remove", p)) : Ok{};
  }
  Status make_dirs(const std::string& path) override {
    std::string p = without_end_slash(path);
    Disk::Stat s;
    int64_t r = disk_.stat(p, s);
    if (r >= 0) return s.folder ? Status(Ok{}) : store_failure(-ENOTDIR, "make the folder", p);
    if (r != -ENOENT) return store_failure(r, "make the folder", p);
    if (parent_of(p) != p && parent_of(p) != ".") HONE_TRY(make_dirs(parent_of(p)));
    r = disk_.make_folder(p);
    if (r == -EEXIST) return Ok{};  // somebody else was quicker
    if (r >= 0) r = disk_.sync_folder(parent_of(p));
    return r < 0 ? Status(store_failure(r, "make the folder", p)) : Ok{};
  }
  Status remove_unfinished(const std::string& folder) override {
    std::vector<Disk::Entry> raw;
    if (int64_t r = disk_.list(folder, raw); r < 0) return store_failure(r, "list", folder);
    for (const Disk::Entry& e : raw)
      if (e.name.starts_with('.') && e.name.ends_with(kTemporary))
        HONE_TRY(remove_all(folder + "/" + e.name));
    return Ok{};
  }

 private:
  Result<std::unique_ptr<Writer>> temporary_for(const std::string& path, bool is_new) {
    static std::atomic<int64_t> counter{0};
    for (;;) {
      std::string temporary = fmt::format("{}/.{}.{}-{}{}", parent_of(path), name_of(path),
                                          ::getpid(), counter++, kTemporary);
      int64_t h = disk_.open(temporary, Disk::Open::kCreateNew);
      if (h == -EEXIST) continue;  // left by a program that had our number before
      if (h < 0) return store_failure(h, "write", path);
      return std::unique_ptr<Writer>(new FileWriter(disk_, h, path, temporary, is_new));
    }
  }

  int64_t remove_tree(const std::string& path) {
    int64_t r = disk_.unlink(path);
    if (r != -EISDIR) return r;
    std::vector<Disk::Entry> entries;
    if ((r = disk_.list(path, entries)) < 0) return r;
    for (const Disk::Entry& e : entries) {
      if ((r = remove_tree(path + "/" + e.name)) < 0 && r != -ENOENT) return r;
    }
    return disk_.remove_folder(path);
  }
  Disk& disk_;
};

class MemoryStore : public FileStore {
 public:
  explicit MemoryStore(std::unique_ptr<SimulatedDisk> disk)
      : FileStore(*disk), disk_(std::move(disk)) {}

 private:
  std::unique_ptr<SimulatedDisk> disk_;
};

}  // namespace

Result<bool> Store::exists(const std::string& path) { return HONE_TRY(info(path)).exists; }
Result<int64_t> Store::bytes(const std::string& path) { return HONE_TRY(open(path))->bytes(); }
Result<std::string> Store::read(const std::string& path) {
  std::unique_ptr<Reader> reader = HONE_TRY(open(path));
  std::string out(static_cast<size_t>(reader->bytes()), '\0');
  HONE_TRY(reader->read(0, std::as_writable_bytes(std::span(out))));
  return out;
}
Result<std::string> Store::read(const std::string& path, int64_t offset, int64_t bytes) {
  std::unique_ptr<Reader> reader = HONE_TRY(open(path));
  std::string out(static_cast<size_t>(bytes), '\0');
  HONE_TRY(reader->read(offset, std::as_writable_bytes(std::span(out))));
  return out;
}
Result<std::unique_ptr<Writer>> Store::create_new(const std::string& path) {
  if (HONE_TRY(exists(path))) return exists_already(path);
  return create(path);
}
Status Store::copy(const std::string& from, const std::string& to) {
  constexpr int64_t kPiece = int64_t{8} << 20;
  const std::unique_ptr<Reader> reader = HONE_TRY(open(from));
  const std::unique_ptr<Writer> writer = HONE_TRY(create(to));
  std::vector<std::byte> piece;
  for (int64_t at = 0; at < reader->bytes(); at += kPiece) {
    piece.resize(static_cast<size_t>(std::min(kPiece, reader->bytes() - at)));
    HONE_TRY(reader->read(at, piece));
    HONE_TRY(writer->write(piece));
  }
  return writer->commit();
}
Status Store::write(const std::string& path, std::string_view bytes) {
  std::unique_ptr<Writer> writer = HONE_TRY(create(path));
  HONE_TRY(writer->write(bytes));
  return writer->commit();
}
std::unique_ptr<Store> make_file_store(Disk& disk) { return std::make_unique<FileStore>(disk); }
std::unique_ptr<Store> make_memory_store() {
  return std::make_unique<MemoryStore>(std::make_unique<SimulatedDisk>());
}
namespace {
Store*& file_store_now() {
  static FileStore machine(machine_disk());
  static Store* now = &machine;
  return now;
}
}  // namespace
Store& file_store() { return *file_store_now(); }
bool path_exists(const std::string& path) {
  const Result<Store::Info> info = file_store().info(path);
  return info.ok() && info->exists;
}
bool is_file(const std::string& path) {
  const Result<Store::Info> info = file_store().info(path);
  return info.ok() && info->exists && !info->folder;
}
bool is_folder(const std::string& path) {
  const Result<Store::Info> info = file_store().info(path);
  return info.ok() && info->exists && info->folder;
}
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  if (Result<std::vector<Store::Entry>> entries = file_store().list(folder); entries.ok())
    for (Store::Entry& e : *entries) names.push_back(std::move(e.name));
  return names;
}
FileStoreInstead::FileStoreInstead(Store& store)
    : before_(std::exchange(file_store_now(), &store)) {}
FileStoreInstead::~FileStoreInstead() { file_store_now() = before_; }

}  // namespace hone
