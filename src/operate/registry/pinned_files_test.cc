// Tests of versions whose files are in a bucket, against tools/fake_buckets.py.
#include "operate/registry/pinned_files.h"

#include <gmock/gmock.h>

#include "base/store/fake_buckets.h"
#include "base/store/places/places.h"
#include "base/store/temporary_folder.h"
#include "operate/registry/model_hash.h"
#include "operate/registry/register_model.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// One server for all tests: buckets stay open for the whole process.
FakeBuckets* models_server() {
  static FakeBuckets* fake = [] {
    auto* f = new FakeBuckets;
    return f->start({"--bucket", "gs://models"}) ? f : nullptr;
  }();
  return fake;
}

class PinnedFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!models_server()) GTEST_SKIP() << "there is no python3";
    everywhere_.emplace(places_);
    write(local_, "weights");
    write(there_, "weights");
  }
  static void write(const std::string& folder, const std::string& weights) {
    ASSERT_TRUE(file_store().make_dirs(folder).ok());
    ASSERT_TRUE(file_store().write(folder + "/config.json", "{}").ok());
    ASSERT_TRUE(file_store().write(folder + "/model.safetensors", weights).ok());
  }
  ModelToRegister given() const {
    return {.name = "news", .folder = local_, .published = [this](const std::string& path) {
              return path == local_ ? there_ : path;
            }};
  }

  Places places_;
  std::optional<FileStoreInstead> everywhere_;
  TemporaryFolder folder_;
  const std::string local_ = folder_.path + "/train";
  const std::string there_ =
      fmt::format("gs://models/{}", testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(PinnedFiles, AVersionNamesThePublishedObjects) {
  Registry r = std::move(Registry::open(folder_.path + "/r.db").value());
  const std::string hash = hash_model(local_).value();
  // The same files, first registered where no other machine finds them.
  ASSERT_EQ(register_model(r, {.name = "news", .folder = local_}).value().source, local_);
  const ModelVersion v = register_model(r, given()).value();
  EXPECT_EQ(v.number, 1);
  EXPECT_EQ(v.source, there_);
  EXPECT_EQ(v.hash, hash);
  ASSERT_EQ(v.files.size(), 2u);
  EXPECT_EQ(v.files[1]["file"], "model.safetensors");
  EXPECT_EQ(v.files[1]["bytes"], 7);
  EXPECT_FALSE(text_at(v.files[1], "version").empty());
  EXPECT_TRUE(check_pinned(v).ok());
}

TEST_F(PinnedFiles, OtherBytesAreRefused) {
  Registry r = std::move(Registry::open(folder_.path + "/r.db").value());
  const ModelVersion v = register_model(r, given()).value();
  write(there_, "weights");
  EXPECT_TRUE(check_pinned(v).ok()) << "the same bytes in new objects";
  write(there_, "Weights");
  EXPECT_THAT(check_pinned(v).error().text(),
              AllOf(HasSubstr("H3145"), HasSubstr("model.safetensors"), HasSubstr("news:1")));
  EXPECT_THAT(register_model(r, given()).error().text(), HasSubstr("H3145"))
      << "the bucket has other files than the folder";
  ASSERT_TRUE(file_store().remove(there_ + "/model.safetensors").ok());
  EXPECT_THAT(check_pinned(v).error().text(), AllOf(HasSubstr("H3145"), HasSubstr("is gone")));
}

}  // namespace
}  // namespace hone
