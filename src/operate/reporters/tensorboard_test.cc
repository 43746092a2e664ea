#include <gmock/gmock.h>

#include "base/store/store.h"
#include "learn/train/settings.h"
#include "operate/reporters/reporter.h"

namespace hone {
ReporterForm reporter_tensorboard();
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

OrderedJson training_entry(double loss) { return {{"loss", loss}, {"learning_rate", 0.5}}; }

// A run that is reported into the folder /logs of a disk that holds nothing.
struct EventRun {
  EventRun() {
    settings.logging_dir = "/logs";
    settings.do_train = true;
    info.id = "run12345";
    info.settings = {{"learning_rate", 0.5}, {"optim", "adamw_torch"}};
    set_log_sink([this](std::string_view line) { log += line; });
    usage.wall_seconds = 1;
    usage.machine_cpu_share = 0.5;
    reporter = reporter_tensorboard().make({settings, info, metrics, [this] { return usage; }});
  }
  ~EventRun() { set_log_sink({}); }
  std::string events() const {
    const std::vector<std::string> names = names_in("/logs");
    return names.size() == 1 ? file_store().read("/logs/" + names[0]).value() : "";
  }
  SimulatedDisk disk;
  std::unique_ptr<Store> store = make_file_store(disk);
  FileStoreInstead instead{*store};
  TrainSettings settings;
  RunInfo info;
  Metrics metrics;
  Usage usage;
  std::string log;
  std::unique_ptr<Reporter> reporter;
};

TEST(TensorBoard, TheFileBeginsWithTraining) {
  EventRun run;
  ASSERT_TRUE(run.reporter->begin().ok());
  EXPECT_THAT(names_in("/logs"), SizeIs(0));
  ASSERT_TRUE(run.reporter->on_train_begin({}).ok());
  for (const char* part : {"args/text_summary", "_hparams_/experiment",
                           "_hparams_/session_start_info", "train/loss", "run12345"})
    EXPECT_THAT(run.events(), HasSubstr(part));
  EXPECT_THAT(run.events(), Not(HasSubstr("eval/loss"))) << "this run does not evaluate";
  EXPECT_THAT(run.log, HasSubstr("tensorboard /logs/events.out.tfevents."));
}

TEST(TensorBoard, EntriesOfTrainingSayWhatTheMachineDoes) {
  EventRun run;
  ASSERT_TRUE(run.reporter->on_log({.step = 3}, {{"eval_loss", 2.0}}).ok());
  EXPECT_THAT(run.events(), HasSubstr("eval/loss")) << "an evaluation without training";
  EXPECT_THAT(run.events(), Not(HasSubstr("system/")));
  ASSERT_TRUE(run.reporter->on_log({.step = 4}, training_entry(1)).ok());
  EXPECT_THAT(run.events(), HasSubstr("system/cpu_utilization\x15" + std::string("\0\0\0\x3f", 4)));
  EXPECT_THAT(run.events(), Not(HasSubstr("system/gpu"))) << "there is none";
}

// HPARAMS: 1 is success, 2 failure.
TEST(TensorBoard, TheEndSaysHowItWas) {
  for (const auto& [status, byte] :
       {std::pair{"finished", "\x08\x01"}, {"stopped", "\x08\x01"}, {"failed", "\x08\x02"}}) {
    EventRun run;
    ASSERT_TRUE(run.reporter->on_train_begin({}).ok());
    const size_t before = run.events().size();
    run.reporter->end(RunEnd{status, "", "", 1});
    const std::string last = run.events().substr(before);
    EXPECT_THAT(last, HasSubstr("_hparams_/session_end_info"));
    EXPECT_THAT(last, HasSubstr(std::string("\x22\x0b") + byte)) << status;
  }
}

// Rows of two vectors.
LogMedia media_of_rows() {
  LogMedia media;
  media.images.push_back({"train_images/1", "a png", 3, 2});
  media.texts.push_back({"train_images", "| a table |"});
  media.embeddings = LoggedEmbeddings{.width = 2,
                                      .values = {0.25F, -1, 1e-8F, 3},
                                      .columns = {"label", "image"},
                                      .labels = {{"cat", "a\tb.png"}, {"dog", "c.png"}},
                                      .sprite = "a sprite",
                                      .image_side = 64};
  return media;
}

TEST(TensorBoard, ImagesAreInTheFileAndVectorsBesideIt) {
  EventRun run;
  run.reporter->on_media({.step = 3}, media_of_rows());
  EXPECT_THAT(names_in("/logs"), SizeIs(0)) << "nothing has begun";
  ASSERT_TRUE(run.reporter->on_train_begin({}).ok());
  const size_t before = run.events().size();
  run.reporter->on_media({.step = 3}, media_of_rows());
  const std::vector<std::string> names = names_in("/logs");
  ASSERT_THAT(names, SizeIs(3));
  const std::string events = file_store().read("/logs/" + names[0]).value().substr(before);
  for (const char* part : {"train_images/1", "a png", "train_images/text_summary", "| a table |"})
    EXPECT_THAT(events, HasSubstr(part));
  const auto file = [](const char* name) {
    return file_store().read(std::string("/logs/") + name).value();
  };
  EXPECT_EQ(file("projector/tensors.tsv"), "0.25\t-1\n1e-08\t3\n");
  EXPECT_EQ(file("projector/metadata.tsv"), "label\timage\ncat\ta b.png\ndog\tc.png\n");
  EXPECT_EQ(file("projector/sprite.png"), "a sprite");
  EXPECT_EQ(file("projector_config.pbtxt"),
            "embeddings {\n"
            "  tensor_name: \"eval/features\"\n"
            "  tensor_path: \"projector/tensors.tsv\"\n"
            "  metadata_path: \"projector/metadata.tsv\"\n"
            "  sprite {\n"
            "    image_path: \"projector/sprite.png\"\n"
            "    single_image_dim: 64\n"
            "    single_image_dim: 64\n"
            "  }\n"
            "}\n");
}

TEST(TensorBoard, VectorsThatCannotBeWrittenDoNotEndTheRun) {
  EventRun run;
  ASSERT_TRUE(run.reporter->on_train_begin({}).ok());
  run.disk.set_capacity(1);
  run.reporter->on_media({.step = 3}, media_of_rows());
  EXPECT_THAT(run.log, HasSubstr("the embeddings in /logs are not complete: "));
}

TEST(TensorBoard, AFullDiskDoesNotEndTheRun) {
  EventRun run;
  ASSERT_TRUE(run.reporter->on_train_begin({}).ok());
  run.disk.set_capacity(1);
  for (int64_t step = 1; step < 9; ++step)
    EXPECT_TRUE(run.reporter->on_log({.step = step}, training_entry(1)).ok());
  run.reporter->end({});
  const size_t told = run.log.find("is not complete");
  ASSERT_NE(told, std::string::npos) << run.log;
  EXPECT_EQ(run.log.find("is not complete", told + 1), std::string::npos) << "told once";
}

TEST(TensorBoard, AFolderThatCannotBeMadeEndsIt) {
  EventRun run;
  run.disk.fail_at(0, 13);  // EACCES
  EXPECT_FALSE(run.reporter->on_train_begin({}).ok());
  run.reporter->end(RunEnd{"refused", "H0103", "no", 1});
}

TEST(Reporter, NamesAreThoseOfTransformers) {
  EXPECT_EQ(report_name("loss"), "train/loss");
  EXPECT_EQ(report_name("epoch"), "train/epoch");
  EXPECT_EQ(report_name("train_runtime"), "train/train_runtime");
  EXPECT_EQ(report_name("eval_accuracy"), "eval/accuracy");
  EXPECT_EQ(report_name("perplexity"), "eval/perplexity");
}

}  // namespace
}  // namespace hone
