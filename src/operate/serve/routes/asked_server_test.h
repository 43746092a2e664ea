// A test fixture: one server for all tests of a suite, which send JSON requests to it and read its JSON answers.
#pragma once

#include <gtest/gtest.h>

#include "base/store/http.h"
#include "operate/serve/inference_server.h"
#include "operate/serve/routes/routes.h"

namespace hone {

class AskedServer : public testing::Test {
 protected:
  // Call begin() first, then add() for each model, then serve().
  static void begin() { context_ = new ServeContext(); }
  static void add(const std::string& name, const std::string& folder) {
    auto model = ServedModel::load(name, "1", folder, {.threads = 1, .batch_size = 4});
    ASSERT_TRUE(model.ok()) << model.error().text();
    context_->models.add(*model);
  }
  static void serve() {
    context_->ready = true;
    server_ = std::move(InferenceServer::start({}, all_serve_api(), *context_).value()).release();
  }
  static void TearDownTestSuite() {
    delete server_;
    delete context_;
  }
  HttpResponse post(const std::string& path, const Json& body) {
    const std::string text = body.dump();
    return http_
        .send({.method = "POST",
               .url = server_->url() + "/" + path,
               .body = std::as_bytes(std::span(text))})
        .value();
  }
  // The answer to a POST, which must have status 200.
  Json ask(const std::string& path, const Json& body) {
    const HttpResponse r = post(path, body);
    EXPECT_EQ(r.status, 200) << r.body;
    return Json::parse(r.body, nullptr, false);
  }
  // The body of the answer to a POST, which must have status 400.
  std::string refused(const std::string& path, const Json& body) {
    const HttpResponse r = post(path, body);
    EXPECT_EQ(r.status, 400) << r.body;
    return r.body;
  }
  static inline ServeContext* context_ = nullptr;
  static inline InferenceServer* server_ = nullptr;
  HttpClient http_{{.retries = 0}};
};

}  // namespace hone
