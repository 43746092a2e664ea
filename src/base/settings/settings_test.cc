#include "base/settings/settings.h"

#include <gtest/gtest.h>

#include "base/core/text.h"
#include "base/settings/verbs.h"

namespace hone {
namespace {

struct Example {
#define HONE_SETTINGS "base/settings/settings_test.def"
#include "base/settings/fields.inc"
};
struct MoreSettings {
  std::string output = "out";
  void bind(Schema& s) { s.add("output", &output, "Output", "where to write"); }
};
struct Both : Example, MoreSettings {
  void bind(Schema& s) {
    Example::bind(s);
    MoreSettings::bind(s);
  }
};

struct Fixture {
  Both settings;
  Schema schema{"hone train", "fine-tune a model"};
  ParseOutcome outcome;
  std::string config;
  Fixture() { settings.bind(schema); }
  // "" or the error's text.
  std::string parse(std::vector<std::string> args, std::map<std::string, std::string> env = {}) {
    Result<ParseOutcome> r =
        schema.parse(args, env, [&](const std::string&) -> Result<std::string> { return config; });
    if (!r.ok()) return r.error().text();
    outcome = *r;
    return "";
  }
};

TEST(Settings, TypesFromFlags) {
  Fixture f;
  EXPECT_EQ(f.parse({"--model-name-or-path=gpt2", "--do_train", "--learning_rate", "1e-4",
                     "--max_train_samples", "1_000", "--no-keep-linebreaks", "--report_to", "a",
                     "b", "--device_memory", "16GiB", "--lr_scheduler_kwargs", "{\"min_lr\": 1e-6}",
                     "--output", "-"}),
            "");
  EXPECT_EQ(f.settings.model_name_or_path, "gpt2");
  EXPECT_TRUE(f.settings.do_train);
  EXPECT_EQ(f.settings.learning_rate, 1e-4);
  EXPECT_EQ(f.settings.max_train_samples, 1000);
  EXPECT_FALSE(f.settings.keep_linebreaks);
  EXPECT_EQ(f.settings.report_to, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(f.settings.device_memory->bytes, int64_t{16} << 30);
  EXPECT_EQ(f.settings.lr_scheduler_kwargs["min_lr"], 1e-6);
  EXPECT_EQ(f.settings.output, "-");
  EXPECT_EQ(f.schema.origin("learning_rate").source, SettingSource::kFlag);
  EXPECT_EQ(f.schema.origin("learning_rate").place, "--learning_rate");
  EXPECT_EQ(f.schema.origin("eval_strategy").source, SettingSource::kDefault);
}

TEST(Settings, BoolsTakeAWordOrNot) {
  for (const char* word : {"false", "False", "no", "0", "off"}) {
    Fixture f;
    EXPECT_EQ(f.parse({"--model_name_or_path", "m", "--keep_linebreaks", word}), "");
    EXPECT_FALSE(f.settings.keep_linebreaks) << word;
  }
  Fixture f;
  EXPECT_EQ(f.parse({"--do_train=true", "--keep_linebreaks=False", "--model_name_or_path", "m"}),
            "");
  EXPECT_TRUE(f.settings.do_train);
  EXPECT_FALSE(f.settings.keep_linebreaks);
}

TEST(Settings, PrecedenceIsFileEnvironmentFlag) {
  Fixture f;
  f.schema.preset("do_train", "true");
  f.config =
      "model_name_or_path: gpt2\nlearning-rate: 5e-3\nreport_to: [x, y]\n"
      "max_train_samples: 7\neval_strategy: no\nlr_scheduler_kwargs: {a: 1, b: [x, 0.5]}\n";
  EXPECT_EQ(f.parse({"--max_train_samples", "9", "run.yaml"}, {{"HONE_LEARNING_RATE", "0.25"},
                                                               {"HONE_MAX_TRAIN_SAMPLES", "8"},
                                                               {"HONE_DATA", "x"},
                                                               {"HONE_OUTPUT", ""}}),
            "");
  EXPECT_EQ(f.settings.learning_rate, 0.25);
  EXPECT_EQ(f.settings.max_train_samples, 9);
  EXPECT_EQ(f.settings.eval_strategy, "no");
  EXPECT_EQ(f.settings.lr_scheduler_kwargs, Json({{"a", 1}, {"b", {"x", 0.5}}}));
  EXPECT_EQ(f.schema.changed_table(),
            "model_name_or_path   gpt2                       (run.yaml:1:1)\n"
            "do_train             true                       (hone train)\n"
            "max_train_samples    9                          (--max_train_samples)\n"
            "report_to            x,y                        (run.yaml:3:1)\n"
            "learning_rate        0.25                       (HONE_LEARNING_RATE)\n"
            "lr_scheduler_kwargs  {\"a\": 1, \"b\": [\"x\", 0.5]}  (run.yaml:6:1)\n");
}

TEST(Settings, JsonFileAndConfigFlag) {
  Fixture f;
  f.config =
      "{\"model_name_or_path\": \"m\", \"do_train\": true, \"learning_rate\": 1e-5,"
      " \"max_train_samples\": null, \"train_file\": null, \"report_to\": \"none\"}";
  EXPECT_EQ(f.parse({"--do_train", "false", "--config", "a.json"}), "");
  EXPECT_FALSE(f.settings.do_train);
  EXPECT_EQ(f.settings.learning_rate, 1e-5);
  EXPECT_EQ(f.settings.report_to, std::vector<std::string>{"none"});
}

TEST(Settings, DumpReadsBack) {
  Fixture f;
  EXPECT_EQ(f.parse({"--learning_rate", "3e-7", "--report_to", "a,b", "--device_memory", "1.5GiB",
                     "--token", "hf_secret", "--dump-config"}),
            "");
  EXPECT_TRUE(f.outcome.dump_config);
  std::string text = dump_json(f.schema.dump(), {.indent = 2});
  EXPECT_EQ(text.find("hf_secret"), std::string::npos);
  EXPECT_EQ(f.schema.changed_table().find("hf_secret"), std::string::npos);
  Fixture g;
  std::vector<std::string> notices;
  Status s = g.schema.apply_file(text, "dump.json", notices);
  ASSERT_TRUE(s.ok()) << s.error().text();
  EXPECT_EQ(g.schema.dump(), f.schema.dump());
  EXPECT_EQ(g.settings.device_memory->bytes, int64_t{3} << 29);
}

TEST(Settings, BlanksOfASingleTextStay) {
  Fixture f;
  EXPECT_EQ(f.parse({"--model_name_or_path", "m", "--report_to", "prefix=a: "}), "");
  EXPECT_EQ(f.settings.report_to, std::vector<std::string>{"prefix=a: "});
  Fixture two;
  EXPECT_EQ(two.parse({"--model_name_or_path", "m", "--report_to", " a , b"}), "");
  EXPECT_EQ(two.settings.report_to, (std::vector<std::string>{"a", "b"}));
}

TEST(Settings, EverythingThatIsWrongComesTogether) {
  Fixture f;
  f.config = "model_name_or_path: m\nbogus: 1\nmax_train_samples: many\n";
  EXPECT_EQ(
      f.parse({"--learnin_rate", "1", "run.yaml", "--fp16", "--eval_strategy", "sometimes",
               "--max_train_samples"},
              {{"HONE_LEARNING_RATE", "fast"}}),
      "H0201  7 things are wrong with the settings of hone train\n"
      "  at   argument 1: --learnin_rate: hone train has no setting '--learnin_rate' (H0201); "
      "did you mean --learning_rate? 'hone train --help all' lists all\n"
      "  at   argument 7: --max_train_samples: --max_train_samples needs a value: an integer "
      "such as 8 or 1_000 (H0205); write --max_train_samples VALUE, or "
      "--max_train_samples=VALUE when the value begins with --\n"
      "  at   run.yaml:2:1: hone train has no setting 'bogus' (H0201); 'hone train --help all' "
      "lists all\n"
      "  at   run.yaml:3:1: max_train_samples: expected an integer such as 8 or 1_000, got "
      "'many' (H0202)\n"
      "  at   HONE_LEARNING_RATE: learning_rate: expected a number such as 0.1 or 5e-5, got "
      "'fast' (H0202)\n"
      "  at   --fp16 true: fp16: not supported by this version of hone (given: true) (H0204); "
      "train in float32, or leave the flag out\n"
      "  at   --eval_strategy sometimes: eval_strategy: 'sometimes' is not one of no, steps, "
      "epoch (H0203); write one of these words\n"
      "  do   correct each of them, then run the command again");
}

// `"report_to": ["none"]` and words after the flag; one word with bars says what else is harmless.
TEST(Settings, ListsOfForeignFlags) {
  Fixture f;
  EXPECT_EQ(f.parse({"--model_name_or_path", "m", "--debug", "a", "b", "--dtype", "auto", "--dtype",
                     "float32", "--targets"}),
            "H0205  --targets needs a value: text\n  at   argument 10: --targets\n"
            "  do   write --targets VALUE, or --targets=VALUE when the value begins with --");
  Fixture g;
  g.config = R"({"model_name_or_path": "m", "report_to": ["none"], "targets": [], "debug": [1]})";
  EXPECT_EQ(g.parse({"a.json"}), "");
  EXPECT_EQ(g.settings.report_to, std::vector<std::string>{"none"});
  Fixture h;
  EXPECT_EQ(h.parse({"--model_name_or_path", "m", "--targets", "q", "v", "--dtype", "float16"})
                .substr(0, 26),
            "H0204  2 things are wrong ");
}

TEST(Settings, OldSpellingsAndFlagsWithoutEffect) {
  Fixture f;
  EXPECT_EQ(f.parse({"--model_name_or_path", "m", "--evaluation_strategy=steps", "--no_cuda",
                     "--lr", "0.1", "--per_gpu_train_batch_size", "4", "--overwrite_cache",
                     "--ddp_timeout", "1800", "--fp16", "false", "--deepspeed", ""}),
            "");
  EXPECT_EQ(f.settings.eval_strategy, "steps");
  EXPECT_TRUE(f.settings.use_cpu);
  EXPECT_EQ(f.settings.learning_rate, 0.1);
  EXPECT_EQ(f.settings.per_device_train_batch_size, 4);
  ASSERT_EQ(f.outcome.notices.size(), 5u);
  EXPECT_EQ(f.outcome.notices[0], "evaluation_strategy is an old spelling of eval_strategy");
  EXPECT_EQ(f.outcome.notices[3],
            "overwrite_cache has no effect: hone keeps no cache of prepared data");
  EXPECT_EQ(f.schema.origin("eval_strategy").place, "--evaluation_strategy");
}

TEST(Settings, ErrorsNameFlagValueAndRemedy) {
  auto error = [](std::vector<std::string> args) { return Fixture().parse(std::move(args)); };
  EXPECT_EQ(error({"--learnin_rate", "1"}),
            "H0201  hone train has no setting '--learnin_rate'\n"
            "  at   argument 1: --learnin_rate\n"
            "  do   did you mean --learning_rate? 'hone train --help all' lists all");
  EXPECT_EQ(error({"--learning_rate", "fast"}),
            "H0202  learning_rate: expected a number such as 0.1 or 5e-5, got 'fast'\n"
            "  at   --learning_rate fast");
  EXPECT_EQ(error({"--max_train_samples", "2.5"}).substr(0, 5), "H0202");
  EXPECT_EQ(error({"--do_train=maybe"}).substr(0, 5), "H0202");
  EXPECT_EQ(error({"--eval_strategy", "step"}),
            "H0203  eval_strategy: 'step' is not one of no, steps, epoch\n"
            "  at   --eval_strategy step\n"
            "  do   did you mean 'steps'?");
  EXPECT_EQ(error({"--fp16"}),
            "H0204  fp16: not supported by this version of hone (given: true)\n"
            "  at   --fp16 true\n"
            "  do   train in float32, or leave the flag out");
  EXPECT_EQ(error({"--deepspeed", "ds_config.json"}).substr(0, 5), "H0204");
  EXPECT_EQ(
      error({"--learning_rate", "--do_train"}),
      "H0205  --learning_rate needs a value: a number such as 0.1 or 5e-5\n"
      "  at   argument 1: --learning_rate --do_train\n"
      "  do   write --learning_rate VALUE, or --learning_rate=VALUE when the value begins with --");
  EXPECT_EQ(error({"--do_train", "gpt2"}),
            "H0206  hone train does not know what to do with 'gpt2'\n"
            "  at   argument 2, after --do_train\n"
            "  do   settings are flags: --name value");
  EXPECT_EQ(error({"--do_train"}),
            "H0207  hone train needs --model_name_or_path: folder or hub name of the model\n"
            "  do   'hone train --help' shows how to call it");
  EXPECT_EQ(error({"--learning_rate", "-1"}),
            "H0210  learning_rate: -1 is out of bounds: it must be from 0 to 100\n"
            "  at   --learning_rate -1");
}

TEST(Settings, WholeNumbersAreShownAsTheyAreTyped) {
  EXPECT_EQ(value_text(40.0), "40");
  EXPECT_EQ(value_text(-1.0), "-1");
  EXPECT_EQ(value_text(0.1), "0.1");
  EXPECT_EQ(value_text(5e-5), "5e-05");
  EXPECT_EQ(value_text("3.0"), "3.0");
  EXPECT_EQ(value_text(OrderedJson::array({1.0, 0.5})), "1,0.5");
}

TEST(Settings, ErrorsInFilesNameTheLine) {
  auto error = [](const char* text, const char* name = "run.yaml") {
    Fixture f;
    f.config = text;
    return f.parse({name});
  };
  EXPECT_EQ(
      error("do_train: true\nlearning_rat: 1\n").substr(0, 87),
      "H0201  hone train has no setting 'learning_rat'\n  at   run.yaml:2:1\n  do   did you mean");
  EXPECT_EQ(error("do_train: true\nlearning_rate: [1]\n"),
            "H0202  learning_rate: expected a number such as 0.1 or 5e-5, got '[\"1\"]'\n"
            "  at   run.yaml:2:1");
  EXPECT_EQ(error("lr: 1\nlearning_rate: 2\n").substr(0, 5), "H0209");
  EXPECT_EQ(error("- a\n- b\n").substr(0, 5), "H0208");
  EXPECT_EQ(error("a: [1\nb: {").substr(0, 5), "H0208");
  EXPECT_EQ(error("{\"do_train\": true,}", "a.json").substr(0, 5), "H0001");
  EXPECT_EQ(error("\n \n", "a.json").substr(0, 38), "H0001  a.json:1:1: the file is empty\n ");
  EXPECT_EQ(error("{\"lr\": 1,\n \"lr\": 2}", "a.json"),
            "H0209  learning_rate appears twice: here and in line 1\n"
            "  at   a.json:2:8\n  do   keep one of them");
  EXPECT_EQ(error("{\n\"learning_rate\": \"x\"}", "a.json").substr(0, 5), "H0202");
  EXPECT_EQ(error("fp16: true\n").substr(0, 5), "H0204");
  EXPECT_EQ(error(",do_train: true\n").substr(0, 5), "H0208");
  EXPECT_EQ(error("do_train: true\n---\nlr: 1\n").substr(0, 5), "H0208");
  EXPECT_EQ(error("# nothing\n").substr(0, 5), "H0207");
  EXPECT_EQ(error("[1]", "a.json").substr(0, 5), "H0208");
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb += fmt::format("{0}: &{0} [*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1}]\n", c,
                        static_cast<char>(c - 1));
  }
  EXPECT_EQ(error(bomb.c_str()).substr(0, 5), "H0208");
}

TEST(Settings, PositionalArguments) {
  std::string in, out;
  bool force = false;
  Schema s("hone convert", "convert");
  s.add("input", &in, "Files", "what to read");
  s.add("output", &out, "Files", "where to write");
  s.add("force", &force, "Files", "overwrite");
  s.required("input");
  s.required("output");
  s.positional("input");
  s.positional("output");
  ASSERT_TRUE(s.parse({"a.json", "--force", "b"}, {}).ok());
  EXPECT_EQ(in, "a.json");
  EXPECT_EQ(out, "b");
  EXPECT_TRUE(force);
  EXPECT_FALSE(s.parse({"a", "b", "c"}, {}).ok());
  EXPECT_NE(s.help().find("usage: hone convert INPUT OUTPUT"), std::string::npos);
}

TEST(Settings, HelpAndReference) {
  Fixture f;
  EXPECT_EQ(f.parse({"--nonsense", "--help"}), "");
  EXPECT_TRUE(f.outcome.help);
  std::string help = f.schema.help({.width = 80});
  EXPECT_NE(
      help.find("  --learning_rate NUMBER    initial learning rate, after warm-up; also --lr\n"
                "                            [5e-05]\n"),
      std::string::npos)
      << help;
  EXPECT_NE(f.schema.help({.width = 110})
                .find("  --eval_strategy no|steps|epoch  when to evaluate [no]\n"),
            std::string::npos)
      << help;
  EXPECT_NE(f.schema.reference().find(
                "| `--eval_strategy` | no | when to evaluate; one of no, steps, epoch |"),
            std::string::npos);
}

TEST(Settings, HelpFitsTheTerminal) {
  Fixture f;
  for (const int width : {40, 60, 80, 100, 120})
    for (const std::string& line : split(f.schema.help({.width = width}), '\n'))
      EXPECT_TRUE(static_cast<int>(line.size()) <= width || line.starts_with("  --") ||
                  line.starts_with("usage: "))
          << width << ": " << line;
}

TEST(Settings, HelpShowsTheCommonSettingsOrAll) {
  Fixture f;
  EXPECT_EQ(f.parse({"--help"}), "");
  EXPECT_FALSE(f.outcome.help_all);
  EXPECT_EQ(f.parse({"--seed", "--help", "all"}), "");
  EXPECT_TRUE(f.outcome.help_all);
  const std::string some = f.schema.help({.all = false}), all = f.schema.help();
  EXPECT_NE(some.find("--learning_rate"), std::string::npos);
  EXPECT_EQ(some.find("--eval_strategy"), std::string::npos);
  EXPECT_NE(some.find(fmt::format("These are the 1 commonest of {} settings: 'hone train --help "
                                  "all'",
                                  f.schema.all().size())),
            std::string::npos)
      << some;
  EXPECT_NE(all.find("--eval_strategy"), std::string::npos);
  EXPECT_EQ(all.find("commonest"), std::string::npos);
}

struct VerbFixture {
  std::string verb = "list", name, reason, json, folder;
  Schema schema{"hone models", "models"};
  VerbFixture() {
    schema.add("verb", &verb, "Models",
               "list: one row a model; promote: give a version an alias; export, import: models to "
               "and from a server");
    schema.choices("verb", {"list", "promote", "export", "import"});
    schema.add("name", &name, "Models", "promote: the model (as NAME; NAME:3); export: one model");
    schema.add("reason", &reason, "Promote", "a sentence; kept");
    schema.add("json", &json, "Output", "print JSON: one object");
    schema.positional("verb");
    schema.positional("name");
  }
};

TEST(Settings, VerbsHaveHelpOfTheirOwn) {
  VerbFixture f;
  const auto verbs = verbs_of(f.schema);
  ASSERT_EQ(verbs.size(), 4u);
  EXPECT_EQ(verbs[1].summary, "give a version an alias");
  EXPECT_EQ(verbs[3].summary, "models to and from a server");
  const auto of = [&](const char* name) { return verbs_of(f.schema, f.schema.at(name)); };
  EXPECT_EQ(of("name"), (std::vector<std::string>{"promote", "export"}));
  EXPECT_EQ(of("reason"), (std::vector<std::string>{"promote"}));  // by its group
  EXPECT_EQ(of("json"), std::vector<std::string>());
  EXPECT_EQ(help_for_verb(f.schema, f.schema.at("name"), "promote"), "the model (as NAME; NAME:3)");
  EXPECT_EQ(help_for_verb(f.schema, f.schema.at("name"), "export"), "one model");
  EXPECT_EQ(help_for_verb(f.schema, f.schema.at("json"), "list"), "print JSON: one object");

  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"promote", "--help"}, {"--help", "promote"}}) {
    const Result<ParseOutcome> outcome = f.schema.parse(args, {});
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->verb, "promote");
  }
  const Result<ParseOutcome> other = f.schema.parse({"export", "--reason", "x"}, {});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().text(),
            "H0201  hone models export has no setting '--reason'\n  at   --reason\n"
            "  do   it belongs to hone models promote; 'hone models export --help' lists those of "
            "export");
  const Result<ParseOutcome> word = f.schema.parse({"list", "m"}, {});
  ASSERT_FALSE(word.ok());
  EXPECT_EQ(word.error().text(),
            "H0206  hone models list does not know what to do with 'm'\n  at   m\n"
            "  do   leave it out, or use it with promote, export: hone models promote m");
  const Result<ParseOutcome> typo = f.schema.parse({"lst", "m"}, {});
  ASSERT_FALSE(typo.ok());
  EXPECT_TRUE(typo.error().text().starts_with("H0203")) << typo.error().text();
  const Result<ParseOutcome> file = f.schema.parse({"recipe.toml"}, {});
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().remedy(),
            "write hone models list ...; 'hone models --help' describes the verbs");
  const Result<ParseOutcome> name = f.schema.parse({"promote", "m", "reason"}, {});
  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().remedy(), "did you mean --reason?");
  EXPECT_TRUE(f.schema.parse({"promote", "m"}, {}).ok());
  EXPECT_TRUE(f.schema.parse({"promote", "--reason", "x"}, {}).ok());
  EXPECT_TRUE(f.schema.parse({"export"}, {{"HONE_REASON", "x"}}).ok());  // for other commands
  const std::string promote = f.schema.help({.verb = "promote"}),
                    list = f.schema.help({.verb = "list"});
  EXPECT_TRUE(
      promote.starts_with("hone models promote: give a version an alias\n\n"
                          "usage: hone models promote [NAME] [--setting value ...]\n"))
      << promote;
  EXPECT_NE(promote.find("--reason TEXT             a sentence; kept\n"), std::string::npos)
      << promote;
  EXPECT_EQ(list.find("--reason"), std::string::npos) << list;
  EXPECT_NE(list.find("--json"), std::string::npos);
  EXPECT_NE(f.schema.help().find("  promote     give a version an alias\n"), std::string::npos);
  EXPECT_EQ(f.schema.help().find("--verb"), std::string::npos);
}

TEST(Settings, ACommandMayOfferWhatOthersRefuse) {
  Schema schema("hone test", "");
  schema.refused<std::string>("device", "cpu", "there is one device");
  std::string device = "cpu";
  schema.add("device", &device, "Machine", "what to plan for");
  ASSERT_TRUE(schema.parse({"--device", "H100"}, {}).ok());
  EXPECT_EQ(device, "H100");
  EXPECT_THROW(schema.add("device", &device, "Machine", "again"), Bug);
}

// Values of settings from a file of another program: Schema::then, imply, imply_default.
TEST(Settings, ImpliedValues) {
  const auto parse = [](Fixture& f, std::vector<std::string> args) {
    f.schema.then([](Schema& s, std::vector<std::string>& notices, std::vector<Error>& errors) {
      for (const auto& [name, value] :
           std::vector<std::pair<std::string, Json>>{{"learning_rate", 0.5}, {"fp16", false}})
        if (Status done = s.imply(name, value, "x.json:1:2", notices); !done.ok())
          errors.push_back(done.error());
      ASSERT_TRUE(s.imply_default("per_device_train_batch_size", 4, "x's default", notices).ok());
    });
    args.insert(args.end(), {"--model_name_or_path", "m"});
    return f.parse(args);
  };
  Fixture f;
  EXPECT_EQ(parse(f, {}), "");
  EXPECT_EQ(f.settings.learning_rate, 0.5);
  EXPECT_EQ(f.settings.per_device_train_batch_size, 4);
  EXPECT_EQ(f.schema.origin("learning_rate").place, "x.json:1:2");
  EXPECT_TRUE(f.schema.given("learning_rate"));
  Fixture same;
  EXPECT_EQ(parse(same, {"--lr", "5e-1", "--per_device_train_batch_size", "3"}), "");
  EXPECT_EQ(same.schema.origin("learning_rate").place, "--lr");
  EXPECT_EQ(same.settings.per_device_train_batch_size, 3);
  Fixture other;
  const std::string text = parse(other, {"--learning_rate", "0.25"});
  EXPECT_NE(text.find("H0211  learning_rate has two values: 0.25 and 0.5"), std::string::npos)
      << text;
  EXPECT_EQ(other.settings.learning_rate, 0.25);
}

TEST(Settings, JsonOrFile) {
  JsonOrFile v;
  const Field field(&v);
  EXPECT_TRUE(v.empty());
  EXPECT_TRUE(assign(field, "a.json"));
  EXPECT_EQ(v.value, Json("a.json"));
  EXPECT_TRUE(assign(field, " {\"a\": 1}"));
  EXPECT_EQ(v.value["a"], 1);
  EXPECT_TRUE(assign(field, Json{{"b", 2}}));
  EXPECT_EQ(v.value["b"], 2);
  EXPECT_FALSE(assign(field, "{\"a\": "));
  EXPECT_FALSE(assign(field, 3));
  EXPECT_TRUE(assign(field, nullptr));
  EXPECT_TRUE(v.empty());
}

TEST(Settings, ByteSizes) {
  ByteSize b;
  auto size = [&](const char* t) { return assign(Field(&b), t) ? b.bytes : -1; };
  EXPECT_EQ(size("4096"), 4096);
  EXPECT_EQ(size("16G"), int64_t{16} << 30);
  EXPECT_EQ(size("16 gib"), int64_t{16} << 30);
  EXPECT_EQ(size("500MB"), 500000000);
  EXPECT_EQ(size("1.5KiB"), 1536);
  EXPECT_EQ(size("-1"), -1);
  EXPECT_EQ(size("16Q"), -1);
  EXPECT_EQ(size("1e30GiB"), -1);
}

}  // namespace
}  // namespace hone
