// A test fixture: a WebUi that shows the folder below/ of a temporary folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "base/core/json.h"
#include "base/store/http.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "operate/web/web_ui.h"

namespace hone {

class PagesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(file_store().make_dirs(folder_.path + "/below").ok());
    options_.folder = folder_.path + "/below";
    options_.registry = folder_.path + "/registry.db";
    options_.endpoint_url = "http://127.0.0.1:9";  // nobody listens there
    options_.endpoint_key = "key-of-the-endpoint";
  }
  // The path of a file in the temporary folder.
  std::string at(const std::string& name) const { return folder_.path + "/" + name; }
  void put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(file_store().make_dirs(std::filesystem::path(at(name)).parent_path()).ok());
    ASSERT_TRUE(file_store().write(at(name), text).ok());
  }
  void copy_golden(const std::string& golden, const std::string& name) {
    std::filesystem::copy(std::string(HONE_SOURCE_DIR) + "/tests/goldens/" + golden, at(name));
  }
  // Writes the log of a run with these settings into below/<name>. Relative paths in the settings begin at below/.
  void put_run(const std::string& id, const std::string& name, const std::string& task,
               const OrderedJson& settings) {
    const OrderedJson run = {{"id", id},       {"name", name},          {"task", task},
                             {"begun_s", 5.0}, {"folder", at("below")}, {"settings", settings}};
    const OrderedJson line = {{"severity", "INFO"},
                              {"message", ""},
                              {"time", "2020-11-26T12:00:00.000000Z"},
                              {"logging.googleapis.com/labels", {{"run", id}}},
                              {"event", "begin"},
                              {"run", run}};
    put("below/" + name + "/hone_log.jsonl", dump_json(line) + "\n");
  }
  WebUi& ui() {
    if (!ui_) {
      auto started = WebUi::start(options_);
      EXPECT_TRUE(started.ok()) << started.error().text();
      ui_ = std::move(*started);
    }
    return *ui_;
  }
  HttpResponse ask(const std::string& path, const HttpHeaders& headers = {},
                   const std::string& method = "GET", const std::string& body = "") {
    HttpClient client({.retries = 0});
    HttpRequest r;
    r.method = method, r.url = ui().url() + path, r.headers = headers;
    r.body = std::as_bytes(std::span(body));
    auto answer = client.send(r);
    EXPECT_TRUE(answer.ok()) << path;
    return answer.ok() ? std::move(*answer) : HttpResponse{};
  }
  OrderedJson json(const std::string& path, int status = 200) {
    const HttpResponse answer = ask(path);
    EXPECT_EQ(answer.status, status) << path << " " << answer.body;
    auto parsed = parse_ordered_json(answer.body, path);
    EXPECT_TRUE(parsed.ok()) << answer.body;
    return parsed.ok() ? std::move(*parsed) : OrderedJson();
  }

  TemporaryFolder folder_;
  WebUiOptions options_;
  std::unique_ptr<WebUi> ui_;
};

}  // namespace hone
