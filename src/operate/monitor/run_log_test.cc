// The log of a run in a bucket, while the bucket itself writes to the log.
#include "operate/monitor/run_log.h"

#include <gmock/gmock.h>

#include <atomic>

#include "base/store/store.h"

namespace hone {
namespace {

// Says something before each file that it adds to, as a request does that is tried again.
class TalkingStore : public Store {
 public:
  Result<Info> info(const std::string& path) override { return in_->info(path); }
  Result<std::unique_ptr<Reader>> open(const std::string& path) override { return in_->open(path); }
  Result<std::vector<Entry>> list(const std::string& path) override { return in_->list(path); }
  Result<std::unique_ptr<Writer>> create(const std::string& path) override {
    return in_->create(path);
  }
  Result<std::unique_ptr<Writer>> append(const std::string& path) override {
    log_info("trying {} again", path);
    ++appends;
    HONE_TRY(in_->make_dirs(path.substr(0, path.rfind('/'))));
    return in_->append(path);
  }
  Status rename(const std::string& a, const std::string& b) override { return in_->rename(a, b); }
  Status remove(const std::string& path) override { return in_->remove(path); }
  Status remove_all(const std::string& path) override { return in_->remove_all(path); }
  Status make_dirs(const std::string& path) override { return in_->make_dirs(path); }
  Status remove_unfinished(const std::string& path) override {
    return in_->remove_unfinished(path);
  }
  std::atomic<int> appends = 0;

 private:
  std::unique_ptr<Store> in_ = make_memory_store();
};

TEST(RunLog, TakesLinesOfTheBucketThatItWritesTo) {
  TalkingStore store;
  const FileStoreInstead instead(store);
  const auto log = std::move(RunLog::open("gs://bucket/run", {{"run", "abc"}}).value());
  set_log_listener([&](const LogRecord& line) { log->add_line(line); });
  log->release();
  log_info("first line");  // the first write begins in the midst of this line
  log->add_event("begin", {{"x", 1}});
  set_log_listener({});
  log->close();
  EXPECT_EQ(store.appends, 1);
  EXPECT_EQ(log->take_failure(), "");
  const std::string text = store.read("gs://bucket/run/hone_log.jsonl").value();
  EXPECT_THAT(text, testing::HasSubstr("first line"));
  EXPECT_THAT(text, testing::HasSubstr("\"event\": \"begin\""));
}

}  // namespace
}  // namespace hone
