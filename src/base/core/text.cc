#include "base/core/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/core/errors.h"

namespace hone {

std::string format_bytes(int64_t bytes) {
  if (bytes > -1024 && bytes < 1024) return fmt::format("{} B", bytes);
  double v = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* u : {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}) {
    v /= 1024;
    unit = u;
    if (v < 1023.95 && v > -1023.95) break;
  }
  return fmt::format("{:.1f} {}", v, unit);
}

std::string_view trim(std::string_view s) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  size_t a = s.find_first_not_of(kSpace);
  if (a == std::string_view::npos) return {};
  return s.substr(a, s.find_last_not_of(kSpace) - a + 1);
}

std::vector<std::string> split(std::string_view s, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0;;) {
    size_t end = s.find(separator, at);
    parts.emplace_back(s.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != parts.data()) out += separator;
    out += part;
  }
  return out;
}

std::string to_lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string utf8_prefix(std::string_view s, size_t bytes) {
  if (s.size() <= bytes) return std::string(s);
  while (bytes > 0 && (static_cast<unsigned char>(s[bytes]) & 0xC0) == 0x80) --bytes;
  return std::string(s.substr(0, bytes));
}

int utf8_length(std::string_view s) {
  auto byte = [&](size_t i) -> unsigned { return i < s.size() ? static_cast<uint8_t>(s[i]) : 0; };
  auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  if (s.empty()) return 0;
  unsigned c = byte(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return tail(1) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF) {
    if (!tail(1) || !tail(2)) return 0;
    if ((c == 0xE0 && byte(1) < 0xA0) || (c == 0xED && byte(1) > 0x9F)) return 0;
    return 3;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if ((c == 0xF0 && byte(1) < 0x90) || (c == 0xF4 && byte(1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

void append_utf8(std::string& out, uint32_t c) {
  auto put = [&](uint32_t v) { out.push_back(static_cast<char>(v)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

namespace {
std::atomic<Result<std::string> (*)(const std::string&)> url_reader{nullptr};
}  // namespace
void read_urls_with(Result<std::string> (*read)(const std::string& url)) { url_reader = read; }

std::string without_end_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/') && !path.ends_with("://")) path.pop_back();
  return path;
}

std::string last_part(const std::string& path) {
  const std::string bare = without_end_slash(path);
  return bare.substr(bare.rfind('/') + 1);
}

Result<std::string> read_file(const std::string& path) {
  if (const auto read = url_reader.load(); read && path.find("://") != std::string::npos)
    return read(path);
  auto fail = [&](int code) {
    Error e(err::kFileUnreadable, fmt::format("cannot read '{}': {}", path, std::strerror(code)));
    if (code == ENOENT) e.todo("check the path; relative paths start at the current folder");
    if (code == EACCES) e.todo("check the permissions of the file and of its folders");
    if (code == EISDIR) e.todo("name a file, not a folder");
    return e;
  };
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(errno);
  struct stat info {};
  std::string bytes;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) bytes.resize(info.st_size);
  size_t done = 0;
  for (;;) {
    if (done == bytes.size()) bytes.resize(done + 65536);
    ssize_t n = ::read(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      int code = errno;
      ::close(fd);
      return fail(code);
    }
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  ::close(fd);
  bytes.resize(done);
  return bytes;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

namespace {
std::string user_folder(const char* variable, const char* below_home) {
  const std::string xdg = environment(variable);
  return (xdg.empty() ? environment("HOME") + below_home : xdg) + "/hone";
}
}  // namespace

std::string cache_folder() {
  if (std::string own = environment("HONE_CACHE"); !own.empty()) return own;
  return user_folder("XDG_CACHE_HOME", "/.cache");
}
std::string user_data_folder() { return user_folder("XDG_DATA_HOME", "/.local/share"); }
std::string user_state_folder() { return user_folder("XDG_STATE_HOME", "/.local/state"); }

}  // namespace hone
