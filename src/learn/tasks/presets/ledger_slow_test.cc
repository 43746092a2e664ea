// The ledger of what decides the results (learn/train/ledger.h), setting by setting: a run that is
// resumed with another value of one setting ends with the bits of the run that was not, or the
// resume names the setting, or the command is refused. A setting that all tasks share is tried in one
// case, and in all of them when run whole (make nightly).
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/core/log.h"
#include "base/store/temporary_folder.h"
#include "engine/backends/tested_backends_test.h"
#include "learn/harness/run/task_run.h"
#include "learn/pretrained/open.h"
#include "learn/tasks/presets/presets.h"
#include "learn/tasks/tasks.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
const std::string kGoldens = HONE_SOURCE_DIR "/tests/goldens/";

struct Case {
  std::string name, task, model;  // a golden's folder
  std::string train, validation;  // files of the folder of data
  Words flags = {};
};

const Case kCases[] = {
    Case{"clm", "clm", "tiny_text_gpt2", "train.txt", "valid.txt", {"--block_size=16"}},
    Case{"streamed",
         "clm",
         "tiny_text_gpt2",
         "train.jsonl",
         "valid.jsonl",
         {"--block_size=16", "--streaming", "--max_steps=6", "--buffer_size=8"}},
    Case{"mlm",
         "mlm",
         "mlm/bert_tiny",
         "train.txt",
         "valid.txt",
         {"--max_seq_length=16", "--load_best_model_at_end", "--eval_strategy=steps",
          "--eval_steps=2"}},
    Case{"lm", "lm", "mlm/bert_tiny", "train.txt", "valid.txt", {"--max_seq_length=16"}},
    Case{"classification",
         "classification",
         "classification/bert",
         "train.csv",
         "valid.csv",
         {"--ignore_mismatched_sizes"}},
    Case{"nli",
         "nli",
         "classification/bert",
         "train.csv",
         "valid.csv",
         {"--ignore_mismatched_sizes"}},
    Case{"ner",
         "ner",
         "ner/roberta",
         "train.words.jsonl",
         "valid.words.jsonl",
         {"--ignore_mismatched_sizes"}},
    Case{"summarization",
         "summarization",
         "pairs/t5",
         "train.json",
         "valid.json",
         {"--max_source_length=24", "--max_target_length=12"}},
    Case{"translation",
         "translation",
         "pairs/t5",
         "train.json",
         "valid.json",
         {"--max_source_length=24", "--max_target_length=12", "--source_lang=en",
          "--target_lang=de"}},
    Case{"images",
         "image_classification",
         "image_models/vit",
         "train.images.jsonl",
         "valid.images.jsonl",
         {"--random_flip=0.25", "--augment_policy=trivialaugment"}}};

const char* const kSentences[] = {"the river rose over the road in the night",
                                  "a letter was in her hand at the door of the house",
                                  "the men of the village took to their boats",
                                  "the old clock struck nine and ten",
                                  "he had walked so far that his shoes were worn through",
                                  "in the morning there was snow on the hills",
                                  "no one spoke of what had been said",
                                  "the fire was lit and the door was shut"};

void write_data(const std::string& folder) {
  const auto text_files = [&](const std::string& stem, int64_t from, int64_t count) {
    std::ofstream txt(folder + "/" + stem + ".txt"), jsonl(folder + "/" + stem + ".jsonl"),
        labels(folder + "/" + stem + ".csv"), pairs(folder + "/" + stem + ".json"),
        words(folder + "/" + stem + ".words.jsonl"), images(folder + "/" + stem + ".images.jsonl");
    labels << "premise,hypothesis,label\n";
    for (int64_t i = from; i < from + count; ++i) {
      const std::string a = fmt::format("{} {}", kSentences[i % 8], kSentences[(3 * i + 1) % 8]),
                        b = kSentences[(5 * i + 2) % 8];
      txt << a << "\n";
      jsonl << fmt::format("{{\"text\": \"{}\", \"other\": \"{}\"}}\n", a, b);
      labels << fmt::format("{},{},{}\n", a, b, i % 3 == 0 ? "yes" : "no");
      words << fmt::format(
          R"({{"tokens": ["{0}", "Oslo"], "lemmas": ["a", "{0}"], "ner_tags": ["{1}", "B-X"], )"
          R"("pos_tags": ["B-X", "{1}"]}})"
          "\n",
          i % 2 == 0 ? "Harbour" : "uninterestingly", i % 2 == 0 ? "B-X" : "O");
      const char* const kind = i % 3 == 0 ? "cat" : i % 3 == 1 ? "dog" : "owl";
      images << fmt::format(
          R"({{"image": "{}image_folder/validation/{}/{}", "label": "{}", "other": "{}"}})"
          "\n",
          kGoldens, kind, i % 2 == 0 ? "0.jpg" : "1.png", kind, "cat");
      pairs << fmt::format(
          "{{\"text\": \"{0}\", \"summary\": \"{1}\", \"translation\": {{\"en\": \"{0}\", "
          "\"de\": \"{1}\"}}}}\n",
          a, b);
    }
  };
  text_files("train", 0, 17);
  text_files("valid", 3, 4);
  text_files("more", 1, 21);
  for (const char* end : {".txt", ".jsonl", ".csv", ".json", ".words.jsonl", ".images.jsonl"})
    fs::copy_file(folder + "/train" + end, folder + "/again" + end);
}

class Ledger : public testing::TestWithParam<Case> {
 protected:
  struct Outcome {
    std::string error;  // the run was refused
    std::string warnings;
    std::string bits;  // of all weights
  };

  void SetUp() override {
    write_data(folder_.path);
    set_log_level(LogLevel::kWarning);
    set_log_sink([this](std::string_view text) { warnings_ += text; });
  }
  void TearDown() override {
    set_log_sink({});
    set_log_level(LogLevel::kInfo);
  }

  static Task task() {
    for (const auto& shelf : {all_task(), all_preset()})
      for (const Task& t : shelf)
        if (t.name == GetParam().task) return t;
    ADD_FAILURE() << "no task " << GetParam().task;
    return {};
  }
  std::string data(const std::string& file) const { return folder_.path + "/" + file; }

  Words flags_of_case() const {
    const Case& c = GetParam();
    Words flags{"--model_name_or_path=" + kGoldens + c.model,
                "--train_file=" + data(c.train),
                "--validation_file=" + data(c.validation),
                "--do_train",
                "--do_eval",
                "--num_train_epochs=2",
                "--per_device_train_batch_size=2",
                "--gradient_accumulation_steps=2",
                "--learning_rate=0.01",
                "--max_grad_norm=1",
                "--optim=adamw_torch",
                "--lr_scheduler_type=linear",
                "--save_strategy=steps",
                "--save_steps=2",
                "--logging_steps=3",
                "--report_to=none",
                "--eval_strategy=no",
                "--save_total_limit=99",
                "--seed=42",
                "--threads=1",
                "--disable_tqdm"};
    flags.insert(flags.end(), c.flags.begin(), c.flags.end());
    return flags;
  }

  // As hone train.
  Result<std::string> train(const Words& flags, const std::string& out) {
    const Task t = task();
    const auto s = t.settings;
    Schema schema = described(t);
    Words all = flags;
    all.push_back("--output_dir=" + out);
    HONE_TRY(schema.parse(all, {}));
    HONE_TRY(t.settle(schema));
    const TrainStart start = HONE_TRY(Trainer::find_start(*s));
    OpenOptions o;
    o.config_name = s->config_name;
    o.tokenizer_name = s->tokenizer_name;
    o.revision = s->model_revision;
    o.need_tokenizer = false;
    Pretrained model = HONE_TRY(open_pretrained(s->model_name_or_path, o));
    HONE_TRY(t.choose_head(model.config));
    auto run = HONE_TRY(TaskRun::open(t, std::move(model), false));
    if (!s->do_train) return std::string();
    Trainer trainer(*s, *run, HONE_TRY(make_schedule(*s, run->steps().total_steps())));
    if (HONE_TRY(trainer.begin(start))) return std::string();
    HONE_TRY(trainer.train());
    std::string bits;
    for (const std::string& name : run->weight_names()) {
      const auto bytes = run->session().state_values<char>(name);
      bits.append(bytes.data(), bytes.size());
    }
    return bits;
  }

  Outcome resumed(const std::string& from, Words flags, const std::string& flip) {
    const std::string out = fmt::format("{}/out{}", folder_.path, ++runs_);
    fs::create_directory(out);
    fs::copy(from + "/checkpoint-2", out + "/checkpoint-2", fs::copy_options::recursive);
    flags.push_back(flip);
    warnings_.clear();
    Outcome outcome;
    Result<std::string> bits = train(flags, out);
    if (bits.ok())
      outcome.bits = std::move(*bits);
    else
      outcome.error = bits.error().text();
    outcome.warnings = warnings_;
    fs::remove_all(out);
    return outcome;
  }

  // Values that differ from the setting's.
  Words flips(const Setting& s) const {
    const std::string end = GetParam().train.substr(GetParam().train.find('.'));
    const std::map<std::string, Words> known = {
        {"model_name_or_path", {folder_.path + "/model"}},
        {"tokenizer_name", {folder_.path + "/model"}},
        {"config_name", {folder_.path + "/model"}},
        {"train_file", {data("more" + end), data("again" + end)}},
        {"validation_file", {data("more" + end)}},
        {"validation_mismatched_file", {data("more" + end)}},
        {"test_file", {data("more" + end)}},
        {"dataset_name", {data("more" + end)}},
        {"max_steps", {"7", "5"}},
        {"max_train_samples", {"9", "1000"}},
        {"max_eval_samples", {"2"}},
        {"max_predict_samples", {"2"}},
        {"block_size", {"24"}},
        {"max_seq_length", {"24", "8"}},
        {"max_source_length", {"12"}},
        {"max_target_length", {"6"}},
        {"val_max_target_length", {"6"}},
        {"buffer_size", {"2"}},
        {"warmup_steps", {"3"}},
        {"threads", {"2"}},
        {"device_memory", {"4GiB"}},
        {"data_seed", {"42", "7"}},
        {"early_stopping_patience", {"1"}},
        {"encoding", {"latin-1"}},
        {"text_column", {"other", "summary"}},
        {"summary_column", {"text"}},
        {"image_size", {"24"}},
        {"image_size_by_epoch", {"1:16"}},
        {"text_column_names", {"hypothesis"}},
        {"text_column_name", {"lemmas"}},
        {"label_column_name", {"hypothesis", "pos_tags", "other"}},
        {"column_names", {"a,b,c"}},
        {"source_prefix", {"summarize: "}},
        {"source_lang", {"de"}},
        {"target_lang", {"en"}},
        {"limit_train_batches", {"3", "0.5"}},
        {"lr_scheduler_kwargs", {"{\"num_cycles\": 2}"}},
        {"optim_args", {"momentum=0.5"}},
        {"metric_for_best_model", {"accuracy"}},
        {"output_dir", {}},  // each run has its own
        {"task_name", {"rte", "sst2", "pos"}}};
    if (const auto at = known.find(s.name); at != known.end()) return at->second;
    Words words;
    if (!s.choices.empty()) {
      for (const std::string& choice : s.choices)
        if (OrderedJson(choice) != s.value()) words.push_back(choice);
      return words;
    }
    const OrderedJson value = s.value();
    if (is_bool(s.field)) return {value == OrderedJson(true) ? "false" : "true"};
    if (is_list(s.field) || std::holds_alternative<std::string*>(s.field)) return {"other"};
    if (!value.is_number()) return {"2"};
    const double x = value.get<double>();
    return {value.is_number_integer() ? fmt::format("{}", value.get<int64_t>() + 1)
                                      : fmt::format("{}", x == 0 ? 0.25 : x / 2)};
  }

  // Whether this case tries the setting.
  static bool has(const Setting& setting) {
    static const std::vector<Schema> tasks = [] {
      std::vector<Schema> all;
      for (const Task& t : all_task()) all.push_back(described(t));
      return all;
    }();
    const bool shared = std::all_of(tasks.begin(), tasks.end(), [&](const Schema& schema) {
      return has_setting(schema, setting.name);
    });
    const size_t at = std::hash<std::string>{}(setting.name) % std::size(kCases);
    return tests_whole() || !shared || kCases[at].name == GetParam().name;
  }

  const TemporaryFolder folder_;
  std::string warnings_;
  int runs_ = 0;
};

TEST_P(Ledger, AResumeHasTheSameBitsOrNamesTheSetting) {
  fs::copy(kGoldens + GetParam().model, folder_.path + "/model", fs::copy_options::recursive);
  const Words flags = flags_of_case();
  const std::string whole = folder_.path + "/whole";
  const Result<std::string> wanted = train(flags, whole);
  ASSERT_TRUE(wanted.ok()) << wanted.error().text();
  const Outcome as_it_was = resumed(whole, flags, "--disable_tqdm");
  ASSERT_EQ(as_it_was.error, "");
  ASSERT_TRUE(as_it_was.bits == *wanted) << "the resume alone changes bits";
  EXPECT_EQ(as_it_was.warnings.find("resume:"), std::string::npos) << as_it_was.warnings;

  const Task of_case = task();
  Schema schema = described(of_case);
  ASSERT_TRUE(schema.parse(flags, {}).ok());
  int64_t same = 0, named = 0, refused = 0;
  for (const Setting& setting : schema.all()) {
    if (!has(setting)) continue;
    for (const std::string& value : flips(setting)) {
      const std::string flip = fmt::format("--{}={}", setting.name, value);
      const Outcome got = resumed(whole, flags, flip);
      const bool is_named =
          got.warnings.find(fmt::format("resume: '{}' was", setting.name)) != std::string::npos;
      // Other rows, or another model, are not continued.
      if (got.error.find(fmt::format("a run with another '{}'", setting.name)) != std::string::npos)
        ++named;
      else if (!got.error.empty() || got.bits.empty())
        ++refused;
      else if (got.bits == *wanted)
        ++same;
      else if (is_named)
        ++named;
      else
        ADD_FAILURE() << flip << " changes bits and is not named; warnings: " << got.warnings;
      // No warning for the same value in another spelling.
      for (const char* quiet : {"--optim=adam", "--optim=adamw_hf", "--data_seed=42",
                                "--logging_steps=4", "--do_predict=true"})
        if (flip == quiet && got.error.empty() && got.bits == *wanted) {
          EXPECT_EQ(got.warnings.find("resume:"), std::string::npos) << flip << got.warnings;
        }
    }
  }
  RecordProperty("same", static_cast<int>(same));
  RecordProperty("named", static_cast<int>(named));
  RecordProperty("refused", static_cast<int>(refused));
  EXPECT_GT(same, tests_whole() ? 25 : 3);
  EXPECT_GT(named, tests_whole() ? 15 : 1);
}

INSTANTIATE_TEST_SUITE_P(Tasks, Ledger, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hone
