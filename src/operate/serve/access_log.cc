#include "operate/serve/access_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>

#include "base/core/clock.h"
#include "base/core/json.h"
#include "base/core/log.h"
#include "base/core/log_thrown.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "operate/serve/errors.h"

namespace hone {
namespace {

constexpr size_t kMostWaitingBytes = 4 << 20;
constexpr size_t kMostTextBytesOfALine = 1024;  // of a path, a referer or an agent
constexpr size_t kPipeBytes = 4096;             // a pipe that is ready takes them without waiting
constexpr double kLastSeconds = 1;

// Text of a client for a line: bounded and without secrets.
std::string line_text(const std::string& text) {
  const std::string bounded = text.substr(0, kMostTextBytesOfALine);
  return may_hold_a_secret(bounded) ? redact_text(bounded) : bounded;
}
std::string without_query(const std::string& address) {
  return address.substr(0, address.find('?'));
}
// A token may be a part of a path.
std::string line_path(const std::string& path) {
  std::vector<std::string> parts = split(without_query(path).substr(0, kMostTextBytesOfALine), '/');
  for (std::string& part : parts) part = line_text(part);
  return join(parts, "/");
}

// In quotes, escaped as nginx does: "\x22" for a quote, a backslash, a control character or a byte that is not ASCII.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\')
      out += fmt::format("\\x{:02X}", byte);
    else
      out += c;
  }
  return out + "\"";
}
std::string quoted_or_dash(const std::string& text) { return text.empty() ? "-" : quoted(text); }

std::string number_or_dash(int64_t n) { return n < 0 ? "-" : std::to_string(n); }

std::string combined_time(double wall_seconds) {
  const auto whole = static_cast<std::time_t>(wall_seconds);
  std::tm t{};
  ::gmtime_r(&whole, &t);
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{:02}/{}/{}:{:02}:{:02}:{:02} +0000", t.tm_mday, kMonths[t.tm_mon],
                     t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

std::string combined_line(const AccessRecord& r) {
  const std::string request =
      fmt::format("{} {} {}", r.method.empty() ? "-" : r.method, line_path(r.path), r.protocol);
  const std::string referer = line_text(without_query(r.referer)), agent = line_text(r.agent);
  return fmt::format(
      "{} - - [{}] {} {} {} {} {} time={} id={} bytes_in={} seconds={:.6f} first_seconds={} "
      "model={} version={} tokens_in={} tokens_out={}\n",
      r.peer.empty() ? "-" : r.peer, combined_time(r.begun), quoted(request), r.status, r.bytes_out,
      referer.empty() ? "\"-\"" : quoted(referer), agent.empty() ? "\"-\"" : quoted(agent),
      format_utc(r.begun, 3), r.id, r.bytes_in, r.seconds,
      r.first_seconds < 0 ? "-" : fmt::format("{:.6f}", r.first_seconds),
      quoted_or_dash(r.work.model), quoted_or_dash(r.work.version),
      number_or_dash(r.work.tokens_in), number_or_dash(r.work.tokens_out));
}

std::string json_line(const AccessRecord& r) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? OrderedJson() : OrderedJson(text);
  };
  const auto number_or_null = [](int64_t n) { return n < 0 ? OrderedJson() : OrderedJson(n); };
  const auto micros = [](double seconds) { return std::round(seconds * 1e6) / 1e6; };
  const OrderedJson line{
      {"time", format_utc(r.begun, 3)},
      {"peer", text_or_null(r.peer)},
      {"protocol", r.protocol},
      {"method", text_or_null(r.method)},
      {"path", text_or_null(line_path(r.path))},
      {"status", r.status},
      {"bytes_in", r.bytes_in},
      {"bytes_out", r.bytes_out},
      {"seconds", micros(r.seconds)},
      {"first_seconds", r.first_seconds < 0 ? OrderedJson() : OrderedJson(micros(r.first_seconds))},
      {"model", text_or_null(r.work.model)},
      {"version", text_or_null(r.work.version)},
      {"tokens_in", number_or_null(r.work.tokens_in)},
      {"tokens_out", number_or_null(r.work.tokens_out)},
      {"request_id", r.id},
      {"referer", text_or_null(line_text(without_query(r.referer)))},
      {"agent", text_or_null(line_text(r.agent))}};
  return dump_json(line) + "\n";
}

int open_access_file(const std::string& path) {
  if (path == "-") return ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                0640);
}

bool is_regular(int file) {
  struct stat s {};
  return ::fstat(file, &s) == 0 && S_ISREG(s.st_mode);
}

}  // namespace

std::string access_line(const AccessRecord& record, AccessFormat format) {
  return format == AccessFormat::json ? json_line(record) : combined_line(record);
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::string& path, AccessFormat format) {
  const int file = open_access_file(path);
  if (file < 0)
    return Error(err::kServeFlag,
                 fmt::format("cannot write the access log '{}': {}", path, std::strerror(errno)))
        .at("--access_log")
        .todo("name a file in a folder that exists and that this account may write, or -");
  return std::unique_ptr<AccessLog>(new AccessLog(path, format, file));
}

AccessLog::AccessLog(std::string path, AccessFormat format, int file)
    : path_(std::move(path)), format_(format), file_(file), is_file_(is_regular(file)) {
  thread_ = std::thread([this] { run(); });
}

AccessLog::~AccessLog() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    stopped_at_ = system_clock().seconds();
  }
  wake_.notify_one();
  thread_.join();
  ::close(file_);
}

void AccessLog::add(const AccessRecord& record) {
  const std::string line = access_line(record, format_);
  bool was_empty = false;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() + line.size() > kMostWaitingBytes) {
      ++lost_;
      return;
    }
    was_empty = waiting_.empty();
    waiting_ += line;
  }
  if (was_empty) wake_.notify_one();
}

int64_t AccessLog::lost() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

void AccessLog::run() {
  int64_t told = 0;
  std::string lines;
  for (;;) {
    int64_t lost = 0;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      lines.clear();
      lines.swap(waiting_);
      lost = lost_;
    }
    log_if_thrown("the access log", [&] {
      if (lost > std::exchange(told, lost))
        log_warning("the access log {} takes lines too slowly: {} are lost", path_, lost);
      if (is_file_) reopen_moved_file();
      write(lines);
    });
  }
}

// False: nobody reads, and the server ends.
bool AccessLog::wait_for_reader() {
  for (;;) {
    pollfd ready{file_, POLLOUT, 0};
    if (::poll(&ready, 1, 100) > 0) return true;
    std::lock_guard lock(mutex_);
    if (stopped_ && system_clock().seconds() - stopped_at_ > kLastSeconds) return false;
  }
}

void AccessLog::write(std::string_view lines) {
  const auto lose = [&] {
    std::lock_guard lock(mutex_);
    lost_ += std::count(lines.begin(), lines.end(), '\n');
  };
  while (!lines.empty()) {
    if (!is_file_ && !wait_for_reader()) return lose();
    const size_t most = is_file_ ? lines.size() : std::min(lines.size(), kPipeBytes);
    const ssize_t n = ::write(file_, lines.data(), most);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return lose();
    lines.remove_prefix(static_cast<size_t>(n));
  }
}

void AccessLog::reopen_moved_file() {
  struct stat now {
  }, own{};
  if (::stat(path_.c_str(), &now) == 0 && ::fstat(file_, &own) == 0 && now.st_ino == own.st_ino &&
      now.st_dev == own.st_dev)
    return;
  const int file = open_access_file(path_);
  if (file < 0) return;  // the moved file gets the lines
  ::close(std::exchange(file_, file));
  is_file_ = is_regular(file);
}

}  // namespace hone
