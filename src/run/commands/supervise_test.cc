#include "run/commands/supervise.h"

#include <gtest/gtest.h>

#include "base/store/errors.h"
#include "base/store/store.h"
#include "learn/checkpoint/training_checkpoint.h"

namespace hone {
namespace {

// Files in memory; while the server is away, questions about paths with `asked` in them fail.
class AwayStore : public Store {
 public:
  std::string asked;  // "": it is there
  int questions = 0;

  Result<Info> info(const std::string& path) override {
    HONE_TRY(ask(path));
    return files_->info(path);
  }
  Result<std::unique_ptr<Reader>> open(const std::string& path) override {
    HONE_TRY(ask(path));
    return files_->open(path);
  }
  Result<std::vector<Entry>> list(const std::string& path) override {
    HONE_TRY(ask(path));
    return files_->list(path);
  }
  Result<std::unique_ptr<Writer>> create(const std::string& path) override {
    return files_->create(path);
  }
  Result<std::unique_ptr<Writer>> append(const std::string& path) override {
    return files_->append(path);
  }
  Status rename(const std::string& a, const std::string& b) override {
    return files_->rename(a, b);
  }
  Status remove(const std::string& path) override { return files_->remove(path); }
  Status remove_all(const std::string& path) override { return files_->remove_all(path); }
  Status make_dirs(const std::string& path) override { return files_->make_dirs(path); }
  Status remove_unfinished(const std::string& path) override {
    return files_->remove_unfinished(path);
  }

  int fail_at = -1;  // this question alone
  ErrorCode why = err::kNetwork;

 private:
  Status ask(const std::string& path) {
    if (questions++ == fail_at || (!asked.empty() && path.find(asked) != std::string::npos))
      return Error(why, "cannot read " + path);
    return Ok{};
  }
  std::unique_ptr<Store> files_ = make_memory_store();
};

void save(Store& store, int64_t step, const std::string& text) {
  CheckpointWriter w = CheckpointWriter::begin("/out", step, store).value();
  ASSERT_TRUE(w.add_file("config.json", text).ok());
  ASSERT_TRUE(w.add_json(kStateFile, Json{{"step", step}}).ok());
  ASSERT_TRUE(w.commit().ok());
}

TEST(Supervise, ACheckpointIsNewWhenItWasNotThereBefore) {
  AwayStore store;
  const FileStoreInstead instead(store);
  EXPECT_TRUE(marks_of_checkpoints("/out")->empty());
  save(store, 10, "{}");
  const auto before = marks_of_checkpoints("/out").value();
  EXPECT_EQ(before.size(), 1u);
  EXPECT_EQ(newest_since("/out", before).value(), "");
  save(store, 5, "{}");
  EXPECT_EQ(newest_since("/out", before).value(), "/out/checkpoint-5");
  save(store, 10, "{ }");  // another one of that name
  EXPECT_EQ(newest_since("/out", before).value(), "/out/checkpoint-10");
}

TEST(Supervise, AServerThatIsAwayIsNotAnEmptyFolder) {
  AwayStore store;
  const FileStoreInstead instead(store);
  save(store, 10, "{}");
  const auto before = marks_of_checkpoints("/out").value();
  save(store, 20, "{}");
  for (const std::string asked : {"/out", "checkpoint-20", kManifestFile, kStateFile}) {
    store.asked = asked;
    EXPECT_STREQ(newest_since("/out", before).error().code(), "H0107") << asked;
    EXPECT_STREQ(marks_of_checkpoints("/out").error().code(), "H0107") << asked;
  }
  store.asked.clear();
  // Whichever question is not answered.
  store.questions = 0;
  ASSERT_EQ(newest_since("/out", before).value(), "/out/checkpoint-20");
  for (int at = 0, all = store.questions; at < all; ++at) {
    store.questions = 0;
    store.fail_at = at;
    EXPECT_FALSE(newest_since("/out", before).ok()) << at;
  }
}

TEST(Supervise, ACheckpointThatIsDamagedIsLeftOutAndOneThatCannotBeReadIsNot) {
  AwayStore store;
  const FileStoreInstead instead(store);
  save(store, 10, "{}");
  save(store, 20, "{}");
  store.asked = "checkpoint-20";
  for (const ErrorCode& why : {err::kStoreDenied, err::kCredentials, err::kHttpStatus}) {
    store.why = why;
    EXPECT_TRUE(newest_since("/out", {}).error().is(why)) << why.id;
  }
  store.why = err::kStoreShort;
  EXPECT_EQ(newest_since("/out", {}).value(), "/out/checkpoint-10");
}

}  // namespace
}  // namespace hone
