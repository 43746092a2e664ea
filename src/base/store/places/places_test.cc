// Buckets against tools/fake_buckets.py: the guarantees of every store, under faults of servers and
// networks.
#include "base/store/places/places.h"

#include <gtest/gtest.h>

#include "base/core/json.h"
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/store/crc32c.h"
#include "base/store/fake_buckets.h"
#include "base/store/objects/bucket.h"
#include "base/store/places/in_parallel.h"
#include "base/store/places/object_writer.h"
#include "base/store/places/transfer.h"
#include "base/store/store_exercise.h"
#include "base/store/temporary_folder.h"

namespace hone {
namespace {

// One server for all tests: buckets stay open for the whole process.
FakeBuckets* server() {
  static FakeBuckets* fake = [] {
    auto* f = new FakeBuckets;
    std::vector<std::string> buckets;
    for (const char* scheme : {"gs", "s3", "az"})
      buckets.insert(buckets.end(), {"--bucket", fmt::format("{}://hone-test", scheme)});
    return f->start(buckets) ? f : nullptr;
  }();
  return fake;
}

class PlacesTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!server()) GTEST_SKIP() << "there is no python3";
    root_ = fmt::format("{}://hone-test/{}", GetParam(),
                        ::testing::UnitTest::GetInstance()->current_test_info()->line());
  }
  bool gs() const { return GetParam() == "gs"; }
  static std::string text_of(size_t bytes, unsigned seed = 1) {
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
    return text;
  }
  static std::string code(const Status& s) { return s.ok() ? "" : s.error().code(); }
  template <class T>
  static std::string code(const Result<T>& s) {
    return s.ok() ? "" : s.error().code();
  }

  Places places_;
  std::string root_;
};
INSTANTIATE_TEST_SUITE_P(Schemes, PlacesTest, ::testing::Values("gs", "s3", "az"),
                         [](const auto& info) { return info.param; });

TEST_P(PlacesTest, WhatEveryStorePromises) { exercise(places_, root_); }

TEST_P(PlacesTest, LargeFilesGoInPartsAndComeBackInRanges) {
  // Parts have 8 MiB, or 32.
  const std::string text = text_of((gs() ? 70u : 18u) << 20 | 12345u);
  {
    auto w = places_.create(root_ + "/whole").value();
    ASSERT_TRUE(w->write(text).ok());  // straight from memory
    ASSERT_TRUE(w->commit().ok());
  }
  EXPECT_TRUE(*places_.read(root_ + "/whole") == text);
  auto w = places_.create(root_ + "/pieces").value();
  for (size_t at = 0, n = 1; at < text.size(); at += n, n = n * 3 % 9999991)
    ASSERT_TRUE(w->write(std::string_view(text).substr(at, n)).ok());
  EXPECT_FALSE(*places_.exists(root_ + "/pieces"));
  ASSERT_TRUE(w->commit().ok());
  auto reader = places_.open(root_ + "/pieces").value();
  ASSERT_EQ(reader->bytes(), static_cast<int64_t>(text.size()));
  std::string out(777, '\0');
  for (size_t at = 0; at + out.size() < text.size(); at += 777777) {
    ASSERT_TRUE(
        reader->read(static_cast<int64_t>(at), std::as_writable_bytes(std::span(out))).ok());
    ASSERT_EQ(out, text.substr(at, out.size()));
  }
}

TEST_P(PlacesTest, SmallReadsInOrderTakeFewRequests) {
  const std::string text = text_of(3 << 20);
  ASSERT_TRUE(places_.write(root_ + "/x", text).ok());
  server()->log();
  auto reader = places_.open(root_ + "/x").value();
  std::string got(text.size(), '\0'), line(100, '\0');
  for (size_t at = 0; at < text.size(); at += line.size()) {
    const auto n = std::min(line.size(), text.size() - at);
    ASSERT_TRUE(
        reader->read(static_cast<int64_t>(at), std::as_writable_bytes(std::span(line)).first(n))
            .ok());
    got.replace(at, n, line, 0, n);
  }
  EXPECT_TRUE(got == text);
  EXPECT_LE(parse_json(server()->log(), "log")->size(), 8u);
}

TEST_P(PlacesTest, BusyServersAndBrokenConnectionsAreTriedAgain) {
  const std::string text = text_of(9 << 20);
  for (const char* fault : {"kind=status", "kind=reset", "kind=status&code=429&after=1"}) {
    server()->fault(std::string(fault) + "&count=1&method=PUT");
    if (gs()) server()->fault(std::string(fault) + "&count=1&method=POST");
    ASSERT_TRUE(places_.write(root_ + "/x", text).ok()) << fault;
    server()->fault(std::string(fault) + "&count=1&method=GET");
    ASSERT_TRUE(*places_.read(root_ + "/x") == text) << fault;
  }
  server()->fault("kind=cut&after=1000&count=2&method=GET&match=x");
  EXPECT_TRUE(*places_.read(root_ + "/x") == text);
}

// A proxy may cut an answer and say that it is as short.
TEST_P(PlacesTest, ShortenedAnswersAreTriedAgain) {
  const std::string text = text_of(3 << 20);
  for (const char* name : {"/folder/x", "/folder/y", "/folder/z"})
    ASSERT_TRUE(places_.write(root_ + name, text).ok());
  const std::string fault = "kind=short&after=150&count=1&method=";
  server()->fault(fault + "GET&match=folder/x");
  EXPECT_TRUE(*places_.read(root_ + "/folder/x") == text);
  server()->fault(fault + "GET&match=prefix");
  const Result<std::vector<Store::Entry>> all = places_.list(root_ + "/folder");
  ASSERT_TRUE(all.ok()) << all.error().text();
  EXPECT_EQ(all->size(), 3u);
  server()->fault(fault + (gs() ? "POST" : "PUT"));
  EXPECT_EQ(code(places_.write(root_ + "/folder/x", "new")), "");
  EXPECT_EQ(*places_.read(root_ + "/folder/x"), "new");
  // In parts: what begins and what ends them.
  const std::string large = text_of((gs() ? 33u : 9u) << 20);
  auto w = places_.create_new(root_ + "/parts").value();
  server()->fault(fault + "POST&match=uploads");
  ASSERT_TRUE(w->write(large).ok());
  server()->fault(fault + (gs() ? "PUT&match=upload_id" : "POST&match=uploadId"));
  EXPECT_EQ(code(w->commit()), "");
  EXPECT_TRUE(*places_.read(root_ + "/parts") == large);
}

TEST_P(PlacesTest, AWriteWhoseAnswerIsLostIsDoneOnce) {
  server()->fault("kind=lost&count=1&method=" + std::string(gs() ? "POST" : "PUT"));
  ASSERT_TRUE(write_new(places_, root_ + "/commit", "mine").ok());
  EXPECT_EQ(*places_.read(root_ + "/commit"), "mine");
  EXPECT_EQ(code(write_new(places_, root_ + "/commit", "second")), "H0118");
  // In parts too: the last answer is lost.
  const std::string text = text_of((gs() ? 33u : 9u) << 20);
  auto w = places_.create_new(root_ + "/parts").value();
  ASSERT_TRUE(w->write(text).ok());
  server()->fault(gs()                 ? "kind=lost&count=1&method=PUT&match=upload_id"
                  : GetParam() == "s3" ? "kind=lost&count=1&method=POST&match=uploadId"
                                       : "kind=lost&count=1&method=PUT&match=blocklist");
  ASSERT_TRUE(w->commit().ok());
  EXPECT_TRUE(*places_.read(root_ + "/parts") == text);
}

TEST_P(PlacesTest, ARemovalWhoseAnswerIsLostIsDone) {
  ASSERT_TRUE(places_.write(root_ + "/x", "x").ok());
  server()->fault("kind=lost&count=1&method=DELETE");
  const Status s = places_.remove(root_ + "/x");
  EXPECT_TRUE(s.ok()) << s.error().text();
  EXPECT_FALSE(*places_.exists(root_ + "/x"));
  EXPECT_EQ(code(places_.remove(root_ + "/x")), "H0101");
}

TEST_P(PlacesTest, ARemovalOfOneVersionLeavesAnother) {
  if (GetParam() == "s3") GTEST_SKIP() << "base/store/objects tests it on its own server";
  const auto url = *parse_object_url(root_ + "/x");
  Bucket& bucket = **open_bucket(*url);
  const auto put = [&](std::string_view text) {
    return bucket.put(url->key, std::as_bytes(std::span(text)), {})->version;
  };
  const std::string own = put("own"), other = put("other");
  EXPECT_EQ(code(bucket.remove(url->key, own)), "H0118");
  EXPECT_EQ(*places_.read(root_ + "/x"), "other");
  // A list gives the same version as a write.
  EXPECT_EQ(bucket.list(url->key, false, "")->objects.at(0).version, other);
  EXPECT_EQ(code(bucket.remove(url->key, other)), "");
  EXPECT_EQ(code(bucket.remove(url->key, other)), "");
  EXPECT_EQ(code(bucket.remove(url->key)), "H0101");
}

TEST_P(PlacesTest, ALostRaceChangesNothing) {
  for (const size_t bytes : {size_t{10}, size_t{9} << 20}) {
    const std::string path = fmt::format("{}/commit-{}", root_, bytes);
    auto w = places_.create_new(path).value();
    ASSERT_TRUE(w->write(text_of(bytes)).ok());
    server()->fault(gs()                                 ? "kind=race&count=1&match=upload"
                    : GetParam() == "az" && bytes > 1000 ? "kind=race&count=1&match=blocklist"
                    : bytes > 1000 ? "kind=race&count=1&method=POST&match=uploadId"
                                   : "kind=race&count=1&method=PUT");
    const Status s = w->commit();
    EXPECT_EQ(code(s), "H0118");
    EXPECT_EQ(*places_.read(path), "another program's");
  }
}

TEST_P(PlacesTest, AFileThatChangesUnderAReaderIsAnError) {
  ASSERT_TRUE(places_.write(root_ + "/x", text_of(3 << 20)).ok());
  auto reader = places_.open(root_ + "/x").value();
  ASSERT_TRUE(places_.write(root_ + "/x", text_of(3 << 20, 2)).ok());
  std::string out(2 << 20, '\0');
  EXPECT_EQ(code(reader->read(0, std::as_writable_bytes(std::span(out)))), "H0117");
}

TEST_P(PlacesTest, AnAbandonedWriteLeavesNothing) {
  {
    auto w = places_.create(root_ + "/x").value();
    ASSERT_TRUE(w->write(text_of((gs() ? 33u : 17u) << 20)).ok());
  }
  EXPECT_FALSE(*places_.exists(root_ + "/x"));
  EXPECT_EQ(code(places_.list(root_)), "H0101");
}

TEST_P(PlacesTest, NamesOfAllKinds) {
  for (const char* name : {"a b", "ü/ß", "a+b&c=d?e#f", "100%", "x;y,z", "'q\"", "tilde~(1)"}) {
    ASSERT_TRUE(places_.write(root_ + "/" + name, name).ok()) << name;
    EXPECT_EQ(*places_.read(root_ + "/" + name), name);
  }
  EXPECT_EQ(places_.list(root_)->size(), 7u);
  EXPECT_EQ(*places_.read(root_ + "//a b"), "a b");
  EXPECT_EQ(code(places_.read(root_ + "/../other")), "H0106");
  EXPECT_EQ(code(places_.read("nfs://x/y")), "H0106");
  EXPECT_EQ(code(places_.read("gs:///y")), "H0106");
  ASSERT_TRUE(places_.remove_all(root_).ok());
  EXPECT_FALSE(*places_.exists(root_));
}

TEST_P(PlacesTest, AClockThatIsWrongIsCorrected) {
  if (gs()) GTEST_SKIP() << "a token holds no time";
  std::string log;
  set_log_sink([&](std::string_view text) { log += text; });
  for (const double seconds : {3630.0, -7230.0, 0.0}) {
    server()->set_clock(seconds);
    const auto write = [&](int64_t i) {
      return places_.write(fmt::format("{}/{}", root_, i), "x");
    };
    EXPECT_TRUE(in_parallel(20, 8, write).ok()) << seconds;
  }
  set_log_sink({});
  EXPECT_EQ(
      log,
      "warning: the clock of this machine is 1h00m slow: requests are signed with the server's "
      "time\nwarning: the clock of this machine is 2h00m fast: requests are signed with the "
      "server's time\n");
}

TEST_P(PlacesTest, ListsHavePages) {
  std::vector<std::string> names;
  ASSERT_TRUE(in_parallel(1205, 8, [&](int64_t i) {
                return places_.write(fmt::format("{}/{}{:04d}", root_, i % 3 == 0 ? "d/" : "", i),
                                     "x");
              }).ok());
  const auto entries = places_.list(root_).value();
  ASSERT_EQ(entries.size(), 804u);
  EXPECT_TRUE(entries.back().folder);
  EXPECT_EQ(places_.list(root_ + "/d")->size(), 402u);
  ASSERT_TRUE(places_.remove_all(root_).ok());
  EXPECT_FALSE(*places_.exists(root_));
}

TEST_P(PlacesTest, MissingBucketsAndRightsAreSaidInTheUsersWords) {
  const std::string absent = GetParam() + "://no-such-bucket-here/x";
  EXPECT_EQ(code(places_.write(absent, "x")), "H0101");
  EXPECT_EQ(code(places_.list(absent)), "H0101");
  server()->fault("kind=status&code=403&count=9");
  const Error e = places_.read(root_ + "/x").error();
  server()->fault("kind=status&code=403&count=0");
  EXPECT_STREQ(e.code(), "H0102");
  EXPECT_NE(e.text().find(GetParam() + "://hone-test"), std::string::npos) << e.text();
  for (const char* secret : {"hone-test-secret", "Eby8v", "Signature="})
    EXPECT_EQ(e.text().find(secret), std::string::npos) << e.text();
  HttpClient http;
  for (int i = 0; i < 9; ++i) (void)http.get(server()->endpoint() + "/storage/v1/b");  // use it up
}

TEST_P(PlacesTest, AppendingWritesTheWholeAgain) {
  auto log = places_.append(root_ + "/log").value();
  ASSERT_TRUE(log->write("a").ok());
  ASSERT_TRUE(log->sync().ok());
  EXPECT_EQ(*places_.read(root_ + "/log"), "a");
  ASSERT_TRUE(log->write("b").ok());
  ASSERT_TRUE(log->commit().ok());
  EXPECT_EQ(*places_.read(root_ + "/log"), "ab");
}

TEST_P(PlacesTest, AStopBreaksOffLongReadsOnly) {
  ASSERT_TRUE(places_.write(root_ + "/x", text_of(3 << 20)).ok());
  auto reader = places_.open(root_ + "/x").value();
  std::string out(2 << 20, '\0');
  request_stop(SIGTERM);
  EXPECT_EQ(code(reader->read(0, std::as_writable_bytes(std::span(out)))), "H0109");
  EXPECT_TRUE(places_.write(root_ + "/saved", "state").ok());
  EXPECT_EQ(*places_.read(root_ + "/saved"), "state");
  request_stop(0);
}

class GoogleTest : public PlacesTest {};
INSTANTIATE_TEST_SUITE_P(Schemes, GoogleTest, ::testing::Values("gs"),
                         [](const auto& info) { return info.param; });

TEST_P(GoogleTest, DamagedBytesAreFound) {
  const std::string text = text_of(2 << 20);
  ASSERT_TRUE(places_.write(root_ + "/x", text).ok());
  server()->fault("kind=corrupt&count=1&match=alt=media");
  EXPECT_EQ(code(places_.read(root_ + "/x")), "H0113");
  EXPECT_TRUE(*places_.read(root_ + "/x") == text);
}

TEST_P(GoogleTest, AnUploadGoesOnWhereTheServerIs) {
  const std::string text = text_of(70u << 20 | 1u);
  server()->fault("kind=partial&after=262144&count=2&match=upload_id");
  server()->fault("kind=status&count=2&method=PUT&match=upload_id");
  server()->fault("kind=reset&count=1&method=PUT&match=upload_id");
  ASSERT_TRUE(places_.write(root_ + "/x", text).ok());
  EXPECT_TRUE(*places_.read(root_ + "/x") == text);
}

// Other programs write keys that no path can be.
TEST_P(GoogleTest, KeysThatCannotBeFilesAreNamed) {
  const ObjectUrl url = **parse_object_url(root_);
  Bucket& bucket = **open_bucket(url);
  const std::string text = "x";
  for (const char* key : {"a", "zz/f", "zz/../e", "b//c", "./dot", "both", "both/under", "marker/"})
    ASSERT_TRUE(bucket
                    .put(url.key + "/" + key,
                         key == std::string_view("marker/") ? std::span<const std::byte>()
                                                            : std::as_bytes(std::span(text)),
                         {})
                    .ok())
        << key;
  const TemporaryFolder folder;
  const auto names = [](const std::vector<TransferFile>& files) {
    std::vector<std::string> all;
    for (const TransferFile& f : files) all.push_back(f.path);
    std::sort(all.begin(), all.end());
    return all;
  };
  const std::vector<std::string> cannot = {"./dot", "b//c", "both", "zz/../e"};
  const TransferResult copied = copy_folder(places_, root_, folder.path + "/copy").value();
  EXPECT_EQ(names(copied.not_files), cannot);
  EXPECT_EQ(names(files_below(places_, folder.path + "/copy").value()),
            (std::vector<std::string>{"a", "both/under", "zz/f"}));
  const TransferResult again = sync_folder(places_, root_, folder.path + "/copy", true).value();
  EXPECT_EQ(names(again.not_files), cannot);
  EXPECT_EQ(again.same, 3);
  EXPECT_EQ(again.removed, 0);
  // They are an error for callers that do not ask for them.
  EXPECT_EQ(code(files_below(places_, root_)), "H0106");
  EXPECT_NE(left_out(root_, copied.not_files).text().find("at   zz/../e"), std::string::npos);
}

TEST(Crc32c, OfPartsTogether) {
  const std::string all = "123456789, and what comes after";
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);            // RFC 3720's check value
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, appendix B.4
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    const std::string a = all.substr(0, cut), b = all.substr(cut);
    EXPECT_EQ(crc32c(b, crc32c(a)), crc32c(all));
  }
}

}  // namespace
}  // namespace hone
