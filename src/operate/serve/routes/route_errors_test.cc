// Each route refuses in its API's own form, whoever finds the fault: the web server, the keys, the route or the model.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/store/http.h"
#include "base/store/temporary_folder.h"
#include "operate/serve/errors.h"
#include "operate/serve/inference_server.h"
#include "operate/serve/route_table.h"
#include "operate/serve/routes/routes.h"

namespace hone {
namespace {

struct RouteCase {
  const char *method, *path;
  ErrorShape shape;
  bool needs_model = true;  // the model "none" is not found, or not yet
};
constexpr RouteCase kRouteCases[] = {
    {"POST", "/v1/models/none:predict", ErrorShape::plain},
    {"POST", "/v1/models/none/versions/1:predict", ErrorShape::plain},
    {"GET", "/v2/models/none", ErrorShape::plain},
    {"GET", "/v2/models/none/versions/1/ready", ErrorShape::plain},
    {"GET", "/v2/models/none/config", ErrorShape::plain},
    {"GET", "/v2/models/none/stats", ErrorShape::plain},
    {"POST", "/v2/models/none/infer", ErrorShape::plain},
    {"POST", "/v2/models/none/generate", ErrorShape::plain},
    {"POST", "/v2/models/none/generate_stream", ErrorShape::plain},
    {"GET", "/v1/models/none", ErrorShape::openai},
    {"POST", "/v1/completions", ErrorShape::openai},
    {"POST", "/v1/chat/completions", ErrorShape::openai},
    {"POST", "/v1/responses", ErrorShape::openai},
    {"POST", "/v1/embeddings", ErrorShape::openai},
    {"POST", "/v1/rerank", ErrorShape::openai},
    {"POST", "/rerank", ErrorShape::plain},
    {"GET", "/v1/models", ErrorShape::openai, false},
    {"GET", "/v2", ErrorShape::plain, false},
    {"GET", "/v2/models/stats", ErrorShape::plain, false},
    {"POST", "/v2/repository/index", ErrorShape::plain, false},
    {"POST", "/v2/repository/models/none/load", ErrorShape::plain, false},
    {"POST", "/v2/repository/models/none/unload", ErrorShape::plain, false},
    {"POST", "/v1/projects/p/locations/l/endpoints/none:predict", ErrorShape::google},
    {"POST", "/v1beta1/projects/p/locations/l/endpoints/none:predict", ErrorShape::google}};

// The error of the body in the shape, or "" with a failure of the test.
std::string message_in(const std::string& body, ErrorShape shape, int status) {
  const OrderedJson j = OrderedJson::parse(body, nullptr, false);
  EXPECT_TRUE(j.is_object() && j.contains("error") && j.contains("request_id")) << body;
  if (!j.is_object() || !j.contains("error")) return "";
  const OrderedJson& e = j["error"];
  if (shape == ErrorShape::plain) return e.is_string() ? e.get<std::string>() : "";
  if (!e.is_object() || !e.contains("message")) return "";
  if (shape == ErrorShape::openai) {
    EXPECT_TRUE(e.contains("type") && e.contains("param") && e.contains("code")) << body;
    EXPECT_EQ(e["type"], status >= 500 ? "server_error" : "invalid_request_error") << body;
  } else {
    EXPECT_EQ(e["code"], status) << body;
    EXPECT_TRUE(e["status"].is_string()) << body;
  }
  return e["message"].get<std::string>();
}

class RouteErrors : public testing::Test {
 protected:
  void SetUp() override {
    context_.access = std::move(AccessLog::open(log(), AccessFormat::json).value());
    context_.ready = true;
    InferenceOptions o;
    o.keys = {"k"};
    o.http.most_body_bytes = 2000;
    server_ = std::move(InferenceServer::start(o, all_serve_api(), context_).value());
  }
  std::string log() const { return folder_.path + "/access.log"; }
  // Its message.
  std::string refused(const RouteCase& c, int status, const std::string& path,
                      HttpHeaders headers = {{"x-api-key", "k"}},
                      const std::string& body = R"({"model": "none"})",
                      const char* method = nullptr) {
    SCOPED_TRACE(fmt::format("{} {} {}", method ? method : c.method, path, status));
    const std::string id = fmt::format("r{}", ++asked_);
    headers["x-request-id"] = id;
    const HttpResponse r = http_
                               .send({.method = method ? method : c.method,
                                      .url = server_->url() + path,
                                      .headers = std::move(headers),
                                      .body = std::as_bytes(std::span(body))})
                               .value();
    EXPECT_EQ(r.status, status) << r.body;
    EXPECT_EQ(r.header("x-request-id"), id);
    EXPECT_NE(r.body.find("\"request_id\": \"" + id + "\""), std::string::npos) << r.body;
    const std::string message = message_in(r.body, c.shape, status);
    EXPECT_FALSE(message.empty()) << r.body;
    return message;
  }

  TemporaryFolder folder_;
  HttpClient http_{{.retries = 0}};
  ServeContext context_;
  std::unique_ptr<InferenceServer> server_;
  int asked_ = 0;
};

// A new route needs a case here. The routes without keys say how the server is, and refuse nothing.
TEST_F(RouteErrors, EachRouteOfTheShelfHasACase) {
  for (const Api& api : all_serve_api())
    for (const Route& route : api.routes(context_)) {
      const std::vector<PathPattern> patterns = PathPattern::all_of(route.pattern);
      const auto fits = [&](const RouteCase& c) {
        return (route.method == "*" || route.method == c.method) &&
               std::any_of(patterns.begin(), patterns.end(), [&](const PathPattern& p) {
                 return p.match(path_parts(c.path).value()).has_value();
               });
      };
      EXPECT_TRUE(api.open || std::any_of(std::begin(kRouteCases), std::end(kRouteCases), fits))
          << route.method << " " << route.pattern;
    }
}

TEST_F(RouteErrors, HaveTheFormOfTheirApi) {
  for (const RouteCase& c : kRouteCases) {
    const std::string path = c.path;
    refused(c, 401, path, {});
    if (c.needs_model) refused(c, 404, path);
    const std::string verb = path.ends_with(":predict") ? ":predict" : "";
    EXPECT_NE(refused(c, 404, path + "/a/b/c/nothing" + verb).find("nothing"), std::string::npos);
    if (path != "/v2/repository/index")  // takes any method
      refused(c, 405, path, {{"x-api-key", "k"}}, "{}", "DELETE");
    refused(c, 415, path, {{"x-api-key", "k"}, {"content-encoding", "gzip"}});
    refused(c, 415, path,
            {{"x-api-key", "k"}, {"content-type", "multipart/form-data; boundary=x"}});
    if (c.method == std::string("POST"))
      refused(c, 413, path, {{"x-api-key", "k"}}, std::string(2001, ' '));
    context_.models.loading(true);
    if (c.needs_model) refused(c, 503, path);
    if (path == "/rerank")  // the only model that scores pairs may not be there yet
      refused(c, 503, path, {{"x-api-key", "k"}}, R"({"query": "a", "texts": ["b"]})");
    context_.models.loading(false);
  }
  server_.reset();
  context_.access.reset();
  const std::string text = read_file(log()).value();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), asked_);
}

// Each name of each route, as a path and as a version.
TEST_F(RouteErrors, NamesWithControlCharactersAndSlashesAreRefused) {
  for (const RouteCase& c : kRouteCases) {
    if (!c.needs_model) continue;
    const std::string path = c.path;
    for (const std::string& name : {std::string("none"), std::string("1")}) {
      const size_t at = path.find("/" + name);
      if (at == std::string::npos) continue;
      for (const char* bad : {"%00", "a%00b", "%0A", "%7F", "%1f", "a%2Fb"}) {
        std::string changed = path;
        changed.replace(at + 1, name.size(), bad);
        refused(c, 400, changed);
      }
    }
  }
}

TEST_F(RouteErrors, VersionsOfBodiesAreCheckedToo) {
  context_.load = [](const LoadRequest&) -> Status { return Ok{}; };
  context_.unload = [](const std::string&) -> Status { return Ok{}; };
  const RouteCase load{"POST", "/v2/repository/models/m/load", ErrorShape::plain};
  const auto body = [](const std::string& text) { return R"({"parameters": {)" + text + "}}"; };
  const HttpHeaders key{{"x-api-key", "k"}};
  for (const char* bad :
       {R"("hone_version": "1\u0000")", R"("hone_version": "../1")", R"("hone_version": 3)",
        R"("hone_traffic": 101)", R"("config": "{}")", R"("file:1/model.onnx": "x")"})
    refused(load, 400, load.path, key, body(bad));
  refused(load, 400, load.path, key, R"({"version": "1"})");
  const RouteCase unload{"POST", "/v2/repository/models/m/unload", ErrorShape::plain};
  refused(unload, 400, unload.path, key, body(R"("other": true)"));
  refused(unload, 400, unload.path, key, body(R"("unload_dependents": 1)"));
  const RouteCase index{"POST", "/v2/repository/index", ErrorShape::plain};
  refused(index, 400, index.path, key, R"({"ready": "yes"})");
  refused(index, 400, index.path, key, R"({"name": "m"})");
}

}  // namespace
}  // namespace hone
