// Behaviour of S3 servers that tools/fake_buckets.py lacks: ETags that are not an MD5 (SSE-KMS,
// SSE-C), conditional deletes, and servers without them.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/store/objects/bucket.h"
#include "base/store/scripted_server.h"

namespace hone {
namespace {

// One object.
struct EncryptedS3 {
  struct Object {
    std::string text, etag, mark;
  };
  std::optional<Object> object = {};
  int written = 0;
  bool deletes_conditionally = true, loses_answer = false, is_overtaken = false;
  std::vector<ScriptedServer::Request> requests = {};

  void write(const std::string& text, const std::string& mark) {
    object = {text, fmt::format("\"kms-{}\"", ++written), mark};
  }
  ScriptedServer::Answer answer(const ScriptedServer::Request& r) {
    requests.push_back(r);
    if (r.method == "HEAD") {
      if (!object) return {.status = 404};
      return {.headers = {{"etag", object->etag},
                          {"x-amz-meta-hone-upload", object->mark},
                          {"content-length", std::to_string(object->text.size())}}};
    }
    const std::string wanted = r.header("if-match");
    if (r.method == "DELETE" && !wanted.empty() && !deletes_conditionally)
      return {.status = 501, .body = "<Error><Code>NotImplemented</Code></Error>"};
    if (std::exchange(is_overtaken, false))
      write(r.body, "");  // the same bytes, of another program
    const bool lost = std::exchange(loses_answer, false);
    if (r.method == "DELETE" && !object) return {.status = 204};
    if ((!wanted.empty() && (!object || object->etag != wanted)) ||
        (r.header("if-none-match") == "*" && object))
      return {.status = 412, .body = "<Error><Code>PreconditionFailed</Code></Error>"};
    if (r.method == "DELETE") {
      object.reset();
      return {.status = 204, .lost = lost};
    }
    write(r.body, r.header("x-amz-meta-hone-upload"));
    return {.headers = {{"etag", object->etag}}, .lost = lost};
  }
};

class S3BucketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("AWS_ENDPOINT_URL_S3", server_.endpoint().c_str(), 1);
    ::setenv("AWS_ACCESS_KEY_ID", "id", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    ::setenv("no_proxy", "127.0.0.1", 1);
    for (const ObjectScheme& s : all_scheme())
      if (s.names[0] == "s3") bucket_ = s.open("s3", "b", {.clock = &clock_}).value();
  }
  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
  }
  template <class T>
  static std::string code(const Result<T>& r) {
    return r.ok() ? "" : r.error().code();
  }
  static std::string code(const Status& s) { return s.ok() ? "" : s.error().code(); }
  template <class F>
  auto locked(F f) {
    return server_.locked(f);
  }

  FakeClock clock_;
  EncryptedS3 s3_;
  ScriptedServer server_{[this](const ScriptedServer::Request& r) { return s3_.answer(r); }};
  std::unique_ptr<Bucket> bucket_;
};

TEST_F(S3BucketTest, AConditionalWriteWhoseAnswerIsLostIsDoneOnce) {
  locked([&] { s3_.loses_answer = true; });
  const Result<ObjectInfo> first = bucket_->put("lock", bytes("1"), {.absent = true});
  ASSERT_TRUE(first.ok()) << first.error().text();
  EXPECT_EQ(first->version, "\"kms-1\"");
  locked([&] { s3_.loses_answer = true; });
  const Result<ObjectInfo> second = bucket_->put("lock", bytes("2"), {.version = first->version});
  ASSERT_TRUE(second.ok()) << second.error().text();
  EXPECT_EQ(second->version, "\"kms-2\"");
  EXPECT_EQ(locked([&] { return s3_.object->text; }), "2");
  EXPECT_EQ(code(bucket_->put("lock", bytes("3"), {.version = first->version})), "H0118");
}

TEST_F(S3BucketTest, TheSameBytesOfAnotherProgramAreNotItsOwn) {
  locked([&] { s3_.is_overtaken = true; });
  EXPECT_EQ(code(bucket_->put("lock", bytes("1"), {.absent = true})), "H0118");
  EXPECT_EQ(code(bucket_->put("lock", bytes("1"), {})), "");
  EXPECT_EQ(locked([&] { return s3_.object->mark; }), "");  // only a condition needs one
}

TEST_F(S3BucketTest, AnotherVersionIsNotRemoved) {
  for (const bool conditionally : {true, false}) {
    locked([&] { s3_.deletes_conditionally = conditionally; });
    const std::string own = bucket_->put("lock", bytes("own"), {})->version;
    const std::string other = bucket_->put("lock", bytes("other"), {})->version;
    EXPECT_EQ(code(bucket_->remove("lock", own)), "H0118");
    EXPECT_EQ(locked([&] { return s3_.object->text; }), "other");
    EXPECT_EQ(code(bucket_->remove("lock", other)), "");
    EXPECT_FALSE(locked([&] { return s3_.object.has_value(); }));
    EXPECT_EQ(code(bucket_->remove("lock", other)), "");  // it is gone
    EXPECT_EQ(code(bucket_->remove("lock")), "H0101");
  }
  int refused = 0;
  for (const auto& r : locked([&] { return s3_.requests; }))
    refused += r.method == "DELETE" && !r.header("if-match").empty();
  EXPECT_EQ(refused, 3 + 1);  // a server that cannot do it is not asked twice
}

TEST_F(S3BucketTest, ARemovalWhoseAnswerIsLostIsDone) {
  for (const bool conditionally : {true, false}) {
    locked([&] { s3_.deletes_conditionally = conditionally; });
    const std::string own = bucket_->put("lock", bytes("own"), {})->version;
    locked([&] { s3_.loses_answer = true; });
    EXPECT_EQ(code(bucket_->remove("lock", own)), "");
    ASSERT_TRUE(bucket_->put("lock", bytes("own"), {}).ok());
    locked([&] { s3_.loses_answer = true; });
    EXPECT_EQ(code(bucket_->remove("lock")), "");
    EXPECT_FALSE(locked([&] { return s3_.object.has_value(); }));
  }
}

}  // namespace
}  // namespace hone
