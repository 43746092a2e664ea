#include "operate/serve/error_shape.h"

#include "base/core/json.h"
#include "operate/serve/protocol/errors.h"
#include "operate/serve/route.h"

namespace hone {
namespace {

// Google's names of statuses: https://cloud.google.com/apis/design/errors
const char* google_status(int status) {
  constexpr std::pair<int, const char*> kNames[] = {
      {401, "UNAUTHENTICATED"},    {403, "PERMISSION_DENIED"}, {404, "NOT_FOUND"},
      {429, "RESOURCE_EXHAUSTED"}, {500, "INTERNAL"},          {501, "UNIMPLEMENTED"},
      {503, "UNAVAILABLE"},        {504, "DEADLINE_EXCEEDED"}};
  for (const auto& [code, name] : kNames)
    if (code == status) return name;
  return "INVALID_ARGUMENT";
}

OrderedJson openai_body(const WebFault& f) {
  const char* type = "invalid_request_error";
  if (f.status == 429) type = "rate_limit_exceeded";
  if (f.status >= 500) type = "server_error";
  OrderedJson code = nullptr;
  if (f.status == 401) code = "invalid_api_key";
  if (f.status == 404) code = "unknown_url";
  if (!f.code.empty()) code = f.code;
  const OrderedJson param = f.param.empty() ? OrderedJson() : OrderedJson(f.param);
  return {{"message", f.message}, {"type", type}, {"param", param}, {"code", code}};
}

}  // namespace

ErrorShape error_shape_of(std::string_view path) {
  for (const std::string_view vertex : {"/v1/projects/", "/v1beta1/"})
    if (path.starts_with(vertex)) return ErrorShape::google;
  if (path.starts_with("/v1/models/") && path.ends_with(":predict")) return ErrorShape::plain;
  return path == "/v1" || path.starts_with("/v1/") ? ErrorShape::openai : ErrorShape::plain;
}

WebAnswer shaped_error(ErrorShape shape, const WebFault& f) {
  WebAnswer a = web_error(f.status, f.message);
  a.headers = f.headers;
  if (shape == ErrorShape::openai)
    a.body = dump_json(OrderedJson{{"error", openai_body(f)}}) + "\n";
  if (shape == ErrorShape::google)
    a.body = dump_json(OrderedJson{{"error",
                                    {{"code", f.status},
                                     {"message", f.message},
                                     {"status", google_status(f.status)}}}},
                       {.indent = 2}) +
             "\n";
  return a;
}

WebAnswer shaped_error(ErrorShape shape, const Error& e) {
  WebFault f{status_of(e), line_of(e), std::string(e.code()), headers_of(e)};
  if (f.status == 404) f.code = "model_not_found";
  // The key of the body that is wrong, if the error has one.
  if (e.is(err::kServeRequest) && !e.where().empty() && e.where()[0].find(' ') == std::string::npos)
    f.param = e.where()[0];
  return shaped_error(shape, f);
}

}  // namespace hone
