#include "base/store/hub_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/store.h"

namespace hone {
namespace fs = std::filesystem;

bool is_commit(const std::string& text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

HubCache::HubCache(std::string root, const std::string& repository) : root_(std::move(root)) {
  std::string name;
  for (char c : repository) name += c == '/' ? "--" : std::string(1, c);
  folder_ = root_ + "/" + name;
  locks_ = root_ + "/.locks/" + name;
}

std::optional<std::string> HubCache::commit_of(const std::string& revision) const {
  if (is_commit(revision)) return revision;
  Result<std::string> text = file_store().read(folder_ + "/refs/" + revision);
  if (!text.ok()) return std::nullopt;
  std::string commit(trim(*text));
  return is_commit(commit) ? std::optional(commit) : std::nullopt;
}

Status HubCache::remember(const std::string& revision, const std::string& commit) const {
  if (revision == commit || commit_of(revision) == commit) return Ok{};
  std::string path = folder_ + "/refs/" + revision;
  HONE_TRY(file_store().make_dirs(fs::path(path).parent_path().string()));
  return file_store().write(path, commit);
}

std::string HubCache::snapshot(const std::string& commit) const {
  return folder_ + "/snapshots/" + commit;
}

std::vector<std::string> HubCache::files(const std::string& commit) const {
  std::vector<std::string> names, folders = {""};
  while (!folders.empty()) {
    const std::string at = folders.back();
    folders.pop_back();
    Result<std::vector<Store::Entry>> entries = file_store().list(snapshot(commit) + "/" + at);
    if (!entries.ok()) continue;
    for (const Store::Entry& e : *entries) {
      if (e.folder)
        folders.push_back(at + e.name + "/");
      else if (has(commit, at + e.name))
        names.push_back(at + e.name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::vector<std::string>> HubCache::listing(const std::string& commit) const {
  Result<std::string> text = file_store().read(folder_ + "/listings/" + commit);
  if (!text.ok()) return std::nullopt;
  std::vector<std::string> names = split(*text, '\n');
  std::erase(names, "");
  return names;
}

Status HubCache::remember_listing(const std::string& commit,
                                  const std::vector<std::string>& files) const {
  if (listing(commit) == files) return Ok{};
  HONE_TRY(file_store().make_dirs(folder_ + "/listings"));
  return file_store().write(folder_ + "/listings/" + commit,
                            fmt::format("{}\n", join(files, "\n")));
}

bool HubCache::has(const std::string& commit, const std::string& file) const {
  Result<Store::Info> info = file_store().info(snapshot(commit) + "/" + file);
  return info.ok() && info->exists && !info->folder;
}

std::string HubCache::blob(const std::string& etag) const { return folder_ + "/blobs/" + etag; }
bool HubCache::has_blob(const std::string& etag) const {
  Result<Store::Info> info = file_store().info(blob(etag));
  return info.ok() && info->exists;
}

Status HubCache::link(const std::string& commit, const std::string& file,
                      const std::string& etag) const {
  if (has(commit, file)) return Ok{};
  std::string place = snapshot(commit) + "/" + file;
  HONE_TRY(file_store().make_dirs(fs::path(place).parent_path().string()));
  std::string up = "../../";
  for (char c : file) up += c == '/' ? "../" : "";
  std::error_code error;
  fs::remove(place, error);  // a link whose blob was removed
  fs::create_symlink(up + "blobs/" + etag, place, error);
  if (error && error != std::errc::file_exists) {
    // A file system without links: the content itself is in the snapshot, as huggingface_hub
    // does it there.
    fs::rename(blob(etag), place, error);
  }
  if (has(commit, file)) return Ok{};
  return Error(err::kStoreFailed, fmt::format("cannot make '{}': {}", place, error.message()))
      .todo("choose another cache folder with HF_HUB_CACHE or --cache_dir");
}

HubCache::Lock::~Lock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<HubCache::Lock> HubCache::lock(const std::string& etag) const {
  HONE_TRY(file_store().make_dirs(locks_));
  std::string path = locks_ + "/" + etag + ".lock";
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return Error(err::kStoreDenied, fmt::format("cannot lock '{}': {}", path, std::strerror(errno)))
        .todo("choose another cache folder with HF_HUB_CACHE or --cache_dir");
  }
  Lock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) log_info("waiting for another process that loads the same file");
    // A file system without locks is used without.
    while (::flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  return lock;
}

}  // namespace hone
