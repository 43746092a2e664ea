// Downloads that break off while the file on the server changes.
#include "base/store/http.h"

#include <gtest/gtest.h>

#include "base/store/fake_hub.h"
#include "base/store/scripted_server.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "base/store/web_cache.h"

namespace hone {
namespace {

// One file; the first answer is cut off, and what comes then is `after_cut`.
struct ChangingFile {
  struct Version {
    std::string text, etag, modified;
  };
  Version now, after_cut;
  bool knows_if_range = true;
  std::vector<ScriptedServer::Request> requests = {};

  ScriptedServer::Answer answer(const ScriptedServer::Request& r) {
    requests.push_back(r);
    ScriptedServer::Answer a{.headers = {{"accept-ranges", "bytes"}}, .body = now.text};
    if (!now.etag.empty()) a.headers["etag"] = now.etag;
    if (!now.modified.empty()) a.headers["last-modified"] = now.modified;
    if (requests.size() == 1) {
      a.cut_after = 40000;
      now = after_cut;
    }
    const std::string range = r.header("range"), same = r.header("if-range");
    const bool strong = now.etag.starts_with('"');
    if (range.empty() ||
        (knows_if_range && !same.empty() && !(strong && same == now.etag) && same != now.modified))
      return a;
    const size_t begin = std::stoul(range.substr(6));
    a.status = 206;
    a.headers["content-range"] =
        fmt::format("bytes {}-{}/{}", begin, now.text.size() - 1, now.text.size());
    a.body = now.text.substr(begin);
    return a;
  }
};

constexpr const char* kMonday = "Mon, 02 Nov 2026 08:00:00 GMT";
constexpr const char* kTuesday = "Tue, 03 Nov 2026 08:00:00 GMT";

class ContinuedDownload : public ::testing::Test {
 protected:
  void SetUp() override { fresh_hub_environment(folder_.path); }
  // Returns the cache's content after a download, and If-Range of the second request.
  std::pair<std::string, std::string> load(ChangingFile& file) {
    ScriptedServer server([&](const ScriptedServer::Request& r) { return file.answer(r); });
    HubOptions o;
    o.cache_dir = folder_.path + "/cache";
    o.progress = false;
    o.http.clock = &clock_;
    const Result<std::string> path = cached_url(server.endpoint() + "/data.bin", o);
    EXPECT_TRUE(path.ok()) << path.error().text();
    if (!path.ok() || file.requests.size() < 2) return {};
    EXPECT_EQ(file.requests[1].header("range"), "bytes=40000-");
    return {*file_store().read(*path), file.requests[1].header("if-range")};
  }
  TemporaryFolder folder_;
  FakeClock clock_;
  const std::string old_text_ = std::string(100000, 'a'), new_text_ = std::string(120000, 'b');
};

TEST_F(ContinuedDownload, AFileThatIsTheSameIsContinued) {
  const ChangingFile::Version same{old_text_, "\"v1\"", kMonday};
  ChangingFile file{same, same};
  const auto [text, if_range] = load(file);
  EXPECT_TRUE(text == old_text_);
  EXPECT_EQ(if_range, "\"v1\"");
  EXPECT_EQ(file.requests.size(), 2u);
}

TEST_F(ContinuedDownload, TwoVersionsAreNotJoined) {
  const struct {
    std::string etag, new_etag, modified, new_modified, if_range;
  } cases[] = {
      {"\"v1\"", "\"v2\"", kMonday, kTuesday, "\"v1\""},
      {"\"v1\"", "\"v2\"", "", "", "\"v1\""},
      {"", "", kMonday, kTuesday, kMonday},
      {"W/\"v1\"", "W/\"v2\"", kMonday, kTuesday, kMonday},
      {"W/\"v1\"", "W/\"v2\"", "", "", ""},  // the answer's own ETag says it
  };
  for (const auto& c : cases) {
    for (const bool knows : {true, false}) {
      ChangingFile file{
          {old_text_, c.etag, c.modified}, {new_text_, c.new_etag, c.new_modified}, knows};
      const auto [text, if_range] = load(file);
      EXPECT_TRUE(text == new_text_) << c.etag << " " << knows;
      EXPECT_EQ(if_range, c.if_range) << c.etag << " " << knows;
    }
  }
}

TEST(HttpClient, EndsItsTriesAtTheDeadline) {
  ScriptedServer server([](const auto&) { return ScriptedServer::Answer{.lost = true}; });
  FakeClock clock;
  HttpClient client(
      {.deadline_seconds = 40, .retries = 100, .first_wait_seconds = 30, .clock = &clock});
  const Result<HttpResponse> got = client.get(server.endpoint() + "/data.bin");
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.error().text().find("it is not done after 40 s"), std::string::npos)
      << got.error().text();
  EXPECT_NEAR(clock.seconds(), 40, 1e-6);
}

}  // namespace
}  // namespace hone
