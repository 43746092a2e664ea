#include "run/commands/serve_settings.h"

#include <filesystem>

#include "learn/train/ledger.h"
#include "run/commands/errors.h"
#include "run/commands/in_flags.h"

namespace hone {
namespace {

// Another hone may start the server in another folder. "-" is standard output.
std::string absolute(const std::string& path) {
  std::error_code failed;
  const auto whole = std::filesystem::absolute(path, failed);
  return path.empty() || path == "-" || failed ? path : whole.lexically_normal().string();
}

Schema described_serve(ServeSettings& s) {
  Schema schema("hone serve", "answer requests with models over HTTP");
  s.bind(schema);
  return schema;
}

}  // namespace

OrderedJson kept_settings(const Schema& schema) {
  OrderedJson kept = OrderedJson::object();
  for (const Setting& s : schema.all()) {
    if (s.decides.empty() || s.secret || !schema.given(s.name)) continue;
    OrderedJson value = s.value();
    if (decides(s, "file") && value.is_string()) value = absolute(value.get<std::string>());
    kept[s.name] = std::move(value);
  }
  return kept;
}

Status use_kept_settings(Schema& schema, const Endpoint& endpoint) {
  std::vector<std::string> notices;
  const std::string place = fmt::format("endpoint '{}'", endpoint.display_name);
  for (const auto& [name, value] : endpoint.serving.items())
    if (has_setting(schema, name) && !value.is_null())
      HONE_TRY(schema.imply_default(name, Json(value), place, notices));
  return Ok{};
}

Result<OrderedJson> serving_of(const std::vector<std::string>& flags) {
  std::vector<std::string> args;
  for (const std::string& flag : flags) {
    const size_t equals = flag.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error(err::kMissingArgument, fmt::format("'{}' is not a flag with a value", flag))
          .at("--serve_flags")
          .todo("write NAME=VALUE, such as dtype=bfloat16");
    args.push_back("--" + flag);
  }
  ServeSettings s;
  Schema schema = described_serve(s);
  if (const auto parsed = schema.parse(args, {}); !parsed.ok()) {
    const Error& wrong = parsed.error();
    Error e(wrong.error_code(), wrong.what());
    for (const std::string& where : wrong.where()) {
      const std::string flag = uncounted_argument(where);
      e.at(flag.starts_with("--") ? "--serve_flags " + flag.substr(2) : flag);
    }
    return std::move(e.todo(wrong.remedy()));
  }
  for (const Setting& setting : schema.all())
    if (schema.given(setting.name) && (setting.decides.empty() || setting.secret))
      return Error(err::kMissingArgument,
                   fmt::format("'{}' cannot be kept with an endpoint", setting.name))
          .at("--serve_flags")
          .todo("leave it out; the registry says what an endpoint serves");
  return kept_settings(schema);
}

OrderedJson served_value(const Endpoint& endpoint, const std::string& name) {
  if (const auto kept = endpoint.serving.find(name); kept != endpoint.serving.end()) return *kept;
  ServeSettings s;
  return described_serve(s).at(name).default_value;
}

}  // namespace hone
