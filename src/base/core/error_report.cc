#include "base/core/error_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <set>

#include "base/core/text.h"

namespace hone {
namespace {

int error_descriptor = -1;

constexpr std::pair<const char*, ErrorCode::Kind> kKinds[] = {
    {"transient", ErrorCode::transient}, {"unanswered", ErrorCode::unanswered}};

// Codes of another process, kept for ever as ours are.
const char* kept_code(const std::string& id) {
  static std::mutex mutex;
  static std::set<std::string> codes;
  const std::lock_guard lock(mutex);
  return codes.insert(id).first->c_str();
}

bool is_code(std::string_view id) {
  return id.size() == 5 && id[0] == 'H' && id.find_first_not_of("0123456789", 1) == id.npos;
}

std::optional<Error> error_of_line(std::string_view line) {
  OrderedJson json;
  if (parse_json(line, JsonRules{}, json)) return std::nullopt;
  const std::string id = text_at(json, "code"), kind = text_at(json, "kind");
  if (!is_code(id)) return std::nullopt;
  ErrorCode code{kept_code(id), ""};
  for (const auto& [name, value] : kKinds)
    if (kind == name) code.kind = value;
  Error error(code, text_at(json, "error"));
  for (const OrderedJson& where : value_at(json, "where"))
    if (where.is_string()) error.at(where.get_ref<const std::string&>());
  error.todo(text_at(json, "todo"));
  return error;
}

}  // namespace

void take_error_descriptor() {
  const std::string text = environment(kErrorVariable);
  ::unsetenv(kErrorVariable);
  int fd = -1;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), fd);
  if (failed != std::errc() || end != text.data() + text.size() || fd < 3) return;
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) error_descriptor = fd;
}

void report_error(const Error& error) {
  if (error_descriptor < 0) return;
  const std::string line = report_line(error);
  for (std::string_view left = line; !left.empty();) {
    const ssize_t put = ::write(error_descriptor, left.data(), left.size());
    if (put < 0 && errno != EINTR) return;
    if (put > 0) left.remove_prefix(static_cast<size_t>(put));
  }
}

OrderedJson error_json(const Error& error) {
  return {{"error", error.what()},
          {"code", error.code()},
          {"where", error.where()},
          {"todo", error.remedy()}};
}

std::string report_line(const Error& error) {
  OrderedJson json = error_json(error);
  for (const auto& [name, value] : kKinds)
    if (error.error_code().kind == value) json["kind"] = name;
  return dump_json(json) + "\n";
}

std::optional<Error> reported_error(std::string_view lines) {
  std::optional<Error> last;
  for (const std::string& line : split(lines, '\n'))
    if (std::optional<Error> error = error_of_line(line)) last = std::move(error);
  return last;
}

}  // namespace hone
