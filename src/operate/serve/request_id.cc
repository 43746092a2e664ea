#include "operate/serve/request_id.h"

#include <fmt/format.h>

#include <random>

#include "base/core/json.h"

namespace hone {
namespace {

constexpr size_t kMostIdBytes = 128;

std::string new_request_id() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  const uint64_t first = random(), second = random();
  return fmt::format("{:016x}{:016x}", first, second);
}

bool is_request_id(std::string_view text) {
  return !text.empty() && text.size() <= kMostIdBytes &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "-_.:/+=") == text.npos;
}

}  // namespace

std::string request_id_of(const WebHeaders& headers) {
  const std::string_view own = header_of(headers, kRequestId);
  return is_request_id(own) ? std::string(own) : new_request_id();
}

void name_request(const std::string& id, WebAnswer& a) {
  a.headers.emplace_back("X-Request-Id", id);
  if (a.status < 400 || a.type != "application/json" || a.body.empty()) return;
  Result<OrderedJson> body = parse_ordered_json(a.body, "the answer");
  if (!body.ok() || !body->is_object() || !body->contains("error")) return;
  (*body)["request_id"] = id;
  a.body = dump_json(*body, {.indent = a.body.starts_with("{\n") ? 2 : -1}) + "\n";
}

}  // namespace hone
