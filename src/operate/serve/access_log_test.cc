#include "operate/serve/access_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/core/clock.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/temporary_folder.h"
#include "operate/serve/errors.h"
#include "operate/serve/request_id.h"

namespace hone {
namespace {

AccessRecord some_access() {
  AccessRecord r;
  r.begun = 1700000000.1234;
  r.peer = "127.0.0.1";
  r.protocol = "HTTP/2.0";
  r.method = "POST";
  r.path = "/v1/completions?key=AIzaSyA1234567890123456789012345678901";
  r.agent = "a \"quoted\" agent\n";
  r.referer = "https://me:word@host/page?token=abc";
  r.id = "id-1";
  r.status = 200;
  r.bytes_in = 5;
  r.bytes_out = 7;
  r.seconds = 0.25;
  r.first_seconds = 0.125;
  r.work = {"t5", "3", 11, 4};
  return r;
}

TEST(AccessLine, IsCombinedAsWebServersWriteItWithNamedValuesBehind) {
  EXPECT_EQ(access_line(some_access(), AccessFormat::combined),
            "127.0.0.1 - - [14/Nov/2023:22:13:20 +0000] \"POST /v1/completions HTTP/2.0\" 200 7 "
            "\"https://host/page\" \"a \\x22quoted\\x22 agent\\x0A\" time=2023-11-14T22:13:20.123Z "
            "id=id-1 bytes_in=5 seconds=0.250000 first_seconds=0.125000 model=\"t5\" version=\"3\" "
            "tokens_in=11 tokens_out=4\n");
  AccessRecord malformed;
  malformed.status = 400;
  malformed.protocol = "HTTP/1.1";
  EXPECT_EQ(access_line(malformed, AccessFormat::combined),
            "- - - [01/Jan/1970:00:00:00 +0000] \"-  HTTP/1.1\" 400 0 \"-\" \"-\" "
            "time=1970-01-01T00:00:00.000Z id= bytes_in=0 seconds=0.000000 first_seconds=- model=- "
            "version=- tokens_in=- tokens_out=-\n");
}

TEST(AccessLine, IsAnObjectForMachines) {
  const std::string line = access_line(some_access(), AccessFormat::json);
  EXPECT_TRUE(line.ends_with("}\n"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const Json j = Json::parse(line);
  EXPECT_EQ(j["time"], "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(j["path"], "/v1/completions");
  EXPECT_EQ(j["seconds"], 0.25);
  EXPECT_EQ(j["first_seconds"], 0.125);
  EXPECT_EQ(j["tokens_out"], 4);
  EXPECT_EQ(j["agent"], "a \"quoted\" agent\n");
  EXPECT_TRUE(Json::parse(access_line({}, AccessFormat::json))["model"].is_null());
}

TEST(AccessLine, HoldsNoSecretAndIsBounded) {
  AccessRecord r = some_access();
  r.path = "/v1/models/hf_abcdefghijklmnopqrstuvwxyz";
  r.agent = "curl Authorization: Bearer abcdef " + std::string(100000, 'x');
  for (const AccessFormat f : {AccessFormat::combined, AccessFormat::json}) {
    const std::string line = access_line(r, f);
    for (const char* secret : {"word", "abc", "AIza", "abcdef"})
      EXPECT_EQ(line.find(secret), std::string::npos) << line;
    EXPECT_LT(line.size(), 2000u);
  }
}

// logrotate moves the file; the next line makes it again.
TEST(AccessLog, MakesAFileThatWasMovedAwayAgain) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/access.log", moved = path + ".1";
  {
    const auto log = std::move(AccessLog::open(path, AccessFormat::json).value());
    log->add(some_access());
    while (read_file(path).value().empty()) system_clock().sleep(0.001);
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0007, 0u);
    std::filesystem::rename(path, moved);
    log->add(some_access());
    log->add(some_access());
  }
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines(read_file(moved).value()), 1);
  EXPECT_EQ(lines(read_file(path).value()), 2);
  const auto nowhere = AccessLog::open(folder.path + "/none/access.log", AccessFormat::json);
  EXPECT_EQ(std::string(nowhere.error().code()), err::kServeFlag.id);
}

// A reader that reads nothing: no line waits for it, the lines that have no place are counted, and the end takes a second.
TEST(AccessLog, NeverWaitsForItsReader) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  auto log = std::move(AccessLog::open(path, AccessFormat::combined).value());
  const double begun = system_clock().seconds();
  for (int i = 0; i < 50000; ++i) log->add(some_access());
  EXPECT_GT(log->lost(), 0);
  EXPECT_LT(log->lost(), 50000);
  const double added = system_clock().seconds();
  log.reset();
  EXPECT_LT(added - begun, 20);
  EXPECT_LT(system_clock().seconds() - added, 20);
  ::close(reader);
}

TEST(RequestId, IsTheClientsIfItIsOneElseNew) {
  const auto id = [](const std::string& given) { return request_id_of({{kRequestId, given}}); };
  for (const std::string& own :
       {std::string("a"), std::string("0b1-2_3.4:5/6+7="), std::string(128, 'x')})
    EXPECT_EQ(id(own), own);
  for (const std::string& bad :
       {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\n"),
        std::string("\xc3\xa4"), std::string("a\"b")}) {
    EXPECT_NE(id(bad), bad);
    EXPECT_EQ(id(bad).size(), 32u);
  }
  EXPECT_NE(id(""), id(""));
}

TEST(RequestId, IsInTheHeaderAndInErrors) {
  WebAnswer good{200, "{\"a\": 1}\n"}, bad = web_error(404, "none"), page{500, "<p>", "text/html"};
  for (WebAnswer* a : {&good, &bad, &page}) {
    name_request("r1", *a);
    EXPECT_EQ(header_of(a->headers, "X-Request-Id"), "r1");
  }
  EXPECT_EQ(good.body, "{\"a\": 1}\n");
  EXPECT_EQ(bad.body, "{\"error\": \"none\", \"request_id\": \"r1\"}\n");
  EXPECT_EQ(page.body, "<p>");
}

}  // namespace
}  // namespace hone
