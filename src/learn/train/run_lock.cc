#include "learn/train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/core/json.h"
#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/objects/service.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

constexpr double kDead = 75, kLook = 5;  // seconds
constexpr const char* kLockFile = ".hone_lock";

Error taken(const std::string& folder, const std::string& by) {
  return Error(err::kOutputFolderTaken, fmt::format("{} trains into '{}' now", by, folder))
      .at("--output_dir " + folder)
      .todo("wait until it ends or stop it, or name another folder");
}

std::string first_line(const std::string& path) {
  const Result<std::string> text = read_file(path);
  return text.ok() ? std::string(trim(text->substr(0, text->find('\n')))) : "";
}

// Field 22 of /proc/<pid>/stat; the name in field 2 may hold spaces and brackets.
std::string start_of(int64_t pid) {
  const Result<std::string> text = read_file(fmt::format("/proc/{}/stat", pid));
  if (!text.ok()) return "";
  const size_t end = text->rfind(')');
  if (end == std::string::npos || end + 2 > text->size()) return "";
  const std::vector<std::string> fields = split(text->substr(end + 2), ' ');
  return fields.size() > 19 ? fields[19] : "";
}

std::string link_of(const char* path) {
  char text[128];
  const ssize_t n = ::readlink(path, text, sizeof text);
  return n > 0 ? std::string(text, static_cast<size_t>(n)) : "";
}

std::string text_of(const LockOwner& o, int64_t beat) {
  return Json{{"host", o.host}, {"boot", o.boot}, {"space", o.space}, {"start", o.start},
              {"pid", o.pid},   {"name", o.name}, {"beat", beat}}
             .dump() +
         "\n";
}

LockOwner owner_in(const std::string& text) {
  LockOwner o;
  const Result<Json> j = parse_json(text, kLockFile);
  if (!j.ok() || !j->is_object()) return o;
  const auto field = [&](const char* key) {
    return j->contains(key) && (*j)[key].is_string() ? (*j)[key].get<std::string>() : "";
  };
  o = {field("host"), field("boot"), field("space"), field("start"), 0, field("name")};
  if (j->contains("pid") && (*j)["pid"].is_number_integer()) o.pid = (*j)["pid"].get<int64_t>();
  return o;
}

std::span<const std::byte> as_bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

LockOwner LockOwner::self() {
  return {host_name(),
          first_line("/proc/sys/kernel/random/boot_id"),
          link_of("/proc/self/ns/pid"),
          start_of(::getpid()),
          ::getpid(),
          random_name()};
}

bool LockOwner::is_gone() const {
  const LockOwner here = self();
  return !host.empty() && host == here.host && boot == here.boot && space == here.space &&
         start_of(pid) != start;
}

// The lock object, and the thread that writes it again.
struct RunLock::InBucket {
  Bucket& bucket;
  std::string folder, key;
  double beat_s;
  LockOwner owner = LockOwner::self();
  ObjectInfo object = {};
  int64_t beats = 0;
  std::mutex mutex = {};
  std::condition_variable wake = {};
  bool ended = false;
  std::atomic<bool> lost{false};
  std::thread thread = {};

  Status take(Clock& clock) {
    std::string seen;
    double since = clock.seconds();
    for (bool told = false;;) {
      const std::optional<ObjectInfo> now = HONE_TRY(bucket.stat(key));
      Condition condition{.absent = !now};
      bool free = !now;
      std::string who = "another process";
      if (now) {
        condition.version = now->version;
        std::string text(static_cast<size_t>(now->bytes), '\0');
        Status read = bucket.read(*now, 0, std::as_writable_bytes(std::span(text)));
        if (!read.ok() && read.error().is(err::kFileChanged)) continue;
        HONE_TRY(std::move(read));
        const LockOwner other = owner_in(text);
        who = fmt::format("process {} on {}", other.pid, other.host);
        if (now->version != seen) {
          if (!seen.empty()) return taken(folder, who);  // it was written again: it is alive
          seen = now->version;
          since = clock.seconds();
        }
        const bool here =
            other.host == owner.host && other.boot == owner.boot && other.space == owner.space;
        if (here && !other.is_gone()) return taken(folder, who);
        free = other.is_gone() || clock.seconds() - since >= kDead;
      }
      if (free) {
        Result<ObjectInfo> mine = bucket.put(key, as_bytes_of(text_of(owner, beats)), condition);
        if (mine.ok()) {
          object = std::move(*mine);
          return Ok{};
        }
        if (mine.error().is(err::kLostRace)) return taken(folder, "another process");
        return std::move(mine.error());
      }
      if (!told)
        log_info(
            "{:<11} for {}, which may have trained into {}, to show that it is gone: {:.0f} s at "
            "most",
            "waiting", who, folder, kDead);
      told = true;
      if (stop_requested()) return taken(folder, who);
      clock.sleep(kLook);
    }
  }

  // Whether the lock is known to be this process' own; `lost` when it is known not to be. A write
  // whose answers were all lost may have been done: the object has another version then, but the
  // same owner.
  bool is_own() {
    Result<std::optional<ObjectInfo>> now = bucket.stat(key);
    if (!now.ok()) return false;
    if (*now && (*now)->version == object.version) return true;
    std::string text(*now ? static_cast<size_t>((*now)->bytes) : 0, '\0');
    if (*now && !bucket.read(**now, 0, std::as_writable_bytes(std::span(text))).ok()) return false;
    lost = !*now || owner_in(text).name != owner.name;
    if (!lost) object = std::move(**now);
    return !lost;
  }

  void beat() {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, std::chrono::duration<double>(beat_s), [&] { return ended; })) {
      lock.unlock();
      Result<ObjectInfo> again =
          bucket.put(key, as_bytes_of(text_of(owner, ++beats)), {.version = object.version});
      if (again.ok())
        object = std::move(*again);
      else if (again.error().is(err::kLostRace))
        (void)is_own();
      else if (again.error().is(err::kStoreMissing))
        lost = true;  // somebody removed it, so that another process may take the folder
      lock.lock();
      if (lost) return;
    }
  }

  ~InBucket() {
    {
      std::lock_guard lock(mutex);
      ended = true;
    }
    wake.notify_all();
    if (thread.joinable()) thread.join();
    // A process that was paused may have been taken over without knowing it, and not every server
    // heeds the version.
    if (!lost && !object.version.empty() && is_own()) (void)bucket.remove(key, object.version);
  }
};

RunLock::RunLock(std::string folder, int fd, std::unique_ptr<InBucket> in_bucket)
    : folder_(std::move(folder)), fd_(fd), in_bucket_(std::move(in_bucket)) {}
RunLock::RunLock(RunLock&& other) noexcept
    : folder_(std::move(other.folder_)),
      fd_(std::exchange(other.fd_, -1)),
      in_bucket_(std::move(other.in_bucket_)) {}

Result<RunLock> RunLock::take(const std::string& folder, Clock& clock, double beat_s) {
  if (const std::optional<ObjectUrl> url = HONE_TRY(parse_object_url(folder))) {
    const std::string key = url->key.empty() ? kLockFile : url->key + "/" + kLockFile;
    Bucket* bucket = HONE_TRY(open_bucket(*url));
    std::unique_ptr<InBucket> lock(new InBucket{*bucket, folder, key, beat_s});
    HONE_TRY(lock->take(clock));
    lock->thread = std::thread([l = lock.get()] { l->beat(); });
    return RunLock(folder, -1, std::move(lock));
  }
  for (;;) {
    HONE_TRY(file_store().make_dirs(folder));
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(fd);
      return taken(folder, "another process");
    }
    RunLock lock(folder, fd, nullptr);
    // Another process that was refused may have removed the folder, empty, before the lock was on it.
    if (lock.is_gone()) continue;
    // A folder that cannot be opened: the next writer there says why it cannot.
    (void)file_store().remove_unfinished(folder);  // they are only in the way
    return lock;
  }
}

bool RunLock::is_gone() const {
  struct stat held = {}, named = {};
  if (fd_ < 0 || ::fstat(fd_, &held) != 0) return false;
  if (::stat(folder_.c_str(), &named) != 0) return errno == ENOENT || errno == ENOTDIR;
  return held.st_dev != named.st_dev || held.st_ino != named.st_ino;
}

Status RunLock::check() const {
  if (is_gone())
    return Error(err::kOutputFolderGone,
                 fmt::format("the folder '{}' was {} while the run trained into it", folder_,
                             path_exists(folder_) ? "replaced by another" : "deleted or renamed"))
        .at("--output_dir " + folder_);
  if (!in_bucket_ || !in_bucket_->lost) return Ok{};
  return Error(err::kOutputFolderTaken,
               fmt::format("another process has taken over the folder '{}'", in_bucket_->folder))
      .at("--output_dir " + in_bucket_->folder)
      .todo("let that one continue: this process did not reach the bucket for more than a minute");
}

RunLock::~RunLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace hone
