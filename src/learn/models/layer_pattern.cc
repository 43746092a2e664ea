#include "learn/models/layer_pattern.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace hone {
namespace {

constexpr size_t kKept = 64;  // patterns that a thread keeps compiled

// Python's \Z is PCRE2's \z, and {,n} is {0,n}.
std::string in_pcre2(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      out += {'\\', next == 'Z' ? 'z' : next};
    } else if (pattern.substr(i, 2) == "{,") {
      out += "{0";
    } else {
      out += pattern[i];
    }
  }
  return out;
}

struct Compiled {
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code{nullptr, pcre2_code_free};
  std::string fault;  // of a pattern without code
};

Compiled compiled(const std::string& pattern) {
  const std::string regex = in_pcre2(pattern);
  int error = 0;
  PCRE2_SIZE at = 0;
  Compiled c;
  c.code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(regex.data()), regex.size(),
                             PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr));
  if (c.code) return c;
  char message[200] = "";
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message), sizeof message);
  c.fault = fmt::format("{}, after '{}'", message, regex.substr(0, at));
  return c;
}

// Families ask again for every layer, so compiled patterns are kept.
const Compiled& kept(const std::string& pattern) {
  thread_local std::map<std::string, Compiled> all;
  if (all.size() > kKept) all.clear();
  const auto found = all.find(pattern);
  return found != all.end() ? found->second : all.emplace(pattern, compiled(pattern)).first->second;
}

}  // namespace

bool matches_layer(const std::string& pattern, std::string_view name) {
  const Compiled& c = kept(pattern);
  if (!c.code) return false;
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  return pcre2_match(c.code.get(), reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(), 0,
                     PCRE2_ANCHORED | PCRE2_ENDANCHORED, data.get(), nullptr) >= 0;
}

bool ends_in_layer(std::string_view name, std::string_view end) {
  return name.ends_with(end) &&
         (name.size() == end.size() || name[name.size() - end.size() - 1] == '.');
}

std::optional<std::string> fault_of_pattern(const std::string& pattern) {
  const Compiled& c = kept(pattern);
  return c.code ? std::nullopt : std::optional(c.fault);
}

}  // namespace hone
