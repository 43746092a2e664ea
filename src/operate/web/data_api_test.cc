// The page Data: the runs' data sets, rows as a task's model sees them, and what is refused.
#include "learn/data/shards/shards.h"
#include "learn/pretrained/pretrained.h"
#include "learn/tasks/tasks.h"
#include "operate/registry/registry.h"
#include "operate/web/errors.h"
#include "operate/web/pages_test.h"

namespace hone {
namespace {

class DataPage : public PagesTest {
 protected:
  // The tokens of a row and, by token, "=label", "-" without loss, "" without a label of its own.
  static std::string tokens_text(const OrderedJson& tokens) {
    std::string text;
    for (const OrderedJson& t : tokens) {
      text += text.empty() ? "" : " ";
      text += text_at(t, "piece");
      if (!t.contains("label")) continue;
      text += t.at("label").is_null() ? "-" : "=" + text_at(t, "label");
    }
    return text;
  }
  std::string seen_text(const std::string& path, const char* side = "tokens") {
    const OrderedJson row = json(path).at("rows").at(0);
    EXPECT_TRUE(row.contains("seen")) << dump_json(row);
    return row.contains("seen") ? tokens_text(row.at("seen").at(side)) : "";
  }
};

TEST_F(DataPage, ListsTheDataSetsOfTheRuns) {
  put("below/rows.jsonl", "{\"text\": \"the cat\"}\n");
  put("outside.jsonl", "{\"text\": \"outside\"}\n");
  put("below/shards/a.jsonl", "{\"text\": \"one\"}\n");
  copy_golden("tiny_text_gpt2", "below/first");
  put_run("r1", "first", "clm",
          {{"train_file", {"rows.jsonl"}}, {"validation_file", {"../outside.jsonl"}}});
  put_run("r2", "second", "clm", {{"train_file", {"rows.jsonl"}}, {"dataset_name", "shards"}});
  put_run("r3", "third", "clm", {{"dataset_name", "org/of-the-hub"}});
  const OrderedJson data = json("/api/data");
  std::map<std::string, OrderedJson> sets;
  for (const OrderedJson& set : data.at("sets")) {
    const std::string path = text_at(set, "path");
    sets[path.empty() ? text_at(set, "name") : path] = set;
  }
  ASSERT_EQ(sets.size(), 4u) << dump_json(data);
  EXPECT_EQ(sets["rows.jsonl"].at("files"), OrderedJson::array({"rows.jsonl"}));
  EXPECT_EQ(sets["rows.jsonl"].at("runs").size(), 2u);
  EXPECT_EQ(sets["shards"].at("files"), OrderedJson::array({"shards/a.jsonl"}));
  // Named by its whole path, but nothing of it is read.
  EXPECT_EQ(text_at(sets[at("outside.jsonl")], "kind"), "elsewhere");
  EXPECT_TRUE(sets[at("outside.jsonl")].at("files").empty());
  EXPECT_EQ(text_at(sets["org/of-the-hub"], "kind"), "elsewhere");
  for (const OrderedJson& run : sets["rows.jsonl"].at("runs"))
    EXPECT_EQ(text_at(run, "model"), text_at(run, "id") == "r1" ? "first" : "");
}

TEST_F(DataPage, ListsAttemptsUnderTheirRun) {
  const auto attempt = [](const std::string& id, const std::string& validation,
                          const std::string& then) {
    const OrderedJson run = {
        {"id", id},
        {"name", "b"},
        {"settings", {{"train_file", {"rows.jsonl"}}, {"validation_file", {validation}}}}};
    const std::string head =
        R"({"logging.googleapis.com/labels": {"run": ")" + id + R"("}, "event": )";
    return head + R"("begin", "run": )" + dump_json(run) + "}\n" + head + then + "}\n" + head +
           R"("end", "status": "finished", "results": {"eval_loss": 1}})" + "\n";
  };
  for (const char* file : {"rows", "a", "b"})
    put("below/" + std::string(file) + ".jsonl", "{\"text\": \"the cat\"}\n");
  put("below/run/hone_log.jsonl",
      attempt("r1", "a.jsonl", R"("progress", "progress": {"steps": 1})") +
          attempt("r2", "b.jsonl", R"("ended_before")") +
          attempt("r3", "b.jsonl", R"("ended_before")"));
  std::map<std::string, OrderedJson> readers;
  const OrderedJson data = json("/api/data");
  for (const OrderedJson& set : data.at("sets")) readers[text_at(set, "path")] = set.at("runs");
  ASSERT_EQ(readers.size(), 3u) << dump_json(data);
  for (const auto& [file, runs] : readers) {
    ASSERT_EQ(runs.size(), 1u) << file;
    EXPECT_EQ(text_at(runs[0], "id"), "r1");
    EXPECT_EQ(text_at(runs[0], "setting"), file == "rows.jsonl" ? "train_file" : "validation_file");
    EXPECT_EQ(runs[0].at("attempts"), OrderedJson::array({"r2", "r3"}));
  }
}

TEST_F(DataPage, ListsFilesThatCanBeData) {
  const std::string row = R"({"text": "the cat"})";
  put("below/a.json", "[" + row + "]");
  put("below/b.json", row + "\n" + row + "\n");
  put("below/c.json", R"({"data": [)" + row + ", " + row + "]}");
  put("below/d.jsonl", row + "\n");
  // A recipe, a result of a step, a list of a model's modules, weights.
  put("below/pipeline.json", R"({"name": "news", "task": "clm"})");
  put("below/run/check.json", "{\n  \"step\": \"check\",\n  \"outputs\": {}\n}\n");
  put("below/run/train/config.json", "{}");
  put("below/run/train/modules.json", R"([{"idx": 0}, {"idx": 1}])");
  put("below/out.bin", "PK");
  EXPECT_EQ(json("/api/data").at("files"),
            OrderedJson::array({"a.json", "b.json", "c.json", "d.jsonl"}));
}

TEST_F(DataPage, OffersTheTasksOfTheShelf) {
  std::vector<std::string> offered, shelf;
  const OrderedJson data = json("/api/data");
  for (const OrderedJson& task : data.at("tasks")) offered.push_back(text_at(task, "name"));
  for (const Task& task : all_task())
    if (task.check_rows) shelf.push_back(task.name);
  EXPECT_EQ(offered, shelf);
}

TEST_F(DataPage, OtherFoldersAreShownIfTheyAreNamed) {
  put("elsewhere/rows.jsonl", "{\"text\": \"elsewhere\"}\n");
  put("secret/rows.jsonl", "{\"text\": \"secret\"}\n");
  options_.data_folders = {at("elsewhere")};
  const std::string file = std::filesystem::canonical(at("elsewhere/rows.jsonl"));
  EXPECT_EQ(json("/api/data").at("files"), OrderedJson::array({file}));
  EXPECT_EQ(json("/api/data?file=" + url_encoded(file)).at("rows").size(), 1u);
  const OrderedJson refused = json("/api/data?file=" + url_encoded(at("secret/rows.jsonl")), 404);
  EXPECT_EQ(text_at(refused, "code"), err::kNotBelow.id);
}

TEST_F(DataPage, AProjectsFolderDoesNotHideTheModelOfItsName) {
  put("below/rows.jsonl", "{\"text\": \"the cat\"}\n");
  put("below/news/pipeline.json", "{}\n");
  copy_golden("tiny_text_gpt2", "registered");
  Result<Registry> registry = Registry::open(at("registry.db"));
  ASSERT_TRUE(registry.ok());
  ModelVersion v;
  v.model = "news", v.source = at("registered"), v.hash = "sha256:1", v.task = "clm";
  ASSERT_TRUE(registry->add_version(v).ok());
  EXPECT_NE(seen_text("/api/data?file=rows.jsonl&model=news&task=clm"), "");
}

TEST_F(DataPage, ARowIsWhatItsTaskMakesOfIt) {
  copy_golden("tiny_text_gpt2", "below/gpt2");
  copy_golden("pairs/t5", "below/t5");
  copy_golden("ner/bert", "below/ner");
  copy_golden("sft/model", "below/chat");
  copy_golden("classification/bert", "below/classifier");
  copy_golden("mlm/bert_tiny", "below/mlm");
  put("below/rows.jsonl", "{\"text\": \"the cat\", \"label\": \"good\"}\n");
  put("below/pairs.jsonl",
      "{\"document\": \"The ferry leaves.\", \"summary\": \"It leaves.\", \"id\": 1}\n");
  put("below/tags.jsonl", "{\"tokens\": [\"Anna\", \"took\"], \"ner_tags\": [\"B-PER\", \"O\"]}\n");
  put("below/chats.jsonl",
      "{\"prompt\": [{\"role\": \"user\", \"content\": \"one two\"}], "
      "\"completion\": [{\"role\": \"assistant\", \"content\": \"three four\"}]}\n");
  // A causal model learns the next token: none has a label of its own.
  EXPECT_EQ(seen_text("/api/data?file=rows.jsonl&model=gpt2&task=clm").find('='),
            std::string::npos);
  EXPECT_EQ(json("/api/data?file=rows.jsonl&model=gpt2&task=clm").at("learns_next"), true);
  // One row, and so one label alone: enough to be shown.
  const OrderedJson row =
      json("/api/data?file=rows.jsonl&model=classifier&task=classification").at("rows").at(0);
  EXPECT_EQ(text_at(row.at("seen"), "label"), "good");
  EXPECT_TRUE(row.at("seen").at("tokens").at(0).value("special", false));
  const std::string tags = seen_text("/api/data?file=tags.jsonl&model=ner&task=ner");
  EXPECT_TRUE(tags.starts_with("[CLS]-")) << tags;
  EXPECT_NE(tags.find("=B-PER"), std::string::npos) << tags;
  // The prompt is masked, the answer is learnt, both in the words of the template.
  const std::string chat = seen_text("/api/data?file=chats.jsonl&model=chat&task=sft");
  EXPECT_LT(chat.find("-"), chat.find("=")) << chat;
  // Columns are the task's choice; the decoder starts before its first label.
  const std::string target = seen_text("/api/data?file=pairs.jsonl&model=t5&task=summarization");
  EXPECT_NE(target.find("</s>"), std::string::npos) << target;
  EXPECT_NE(target.find('='), std::string::npos) << target;
  EXPECT_NE(dump_json(json("/api/data?file=pairs.jsonl&model=t5&task=summarization").at("notes"))
                .find("document"),
            std::string::npos);
  // Two texts to compare have no labels of tokens at all.
  put("below/texts.jsonl", "{\"text1\": \"the cat\", \"text2\": \"a dog\"}\n");
  const OrderedJson texts = json("/api/data?file=texts.jsonl&model=mlm&task=embedding");
  EXPECT_TRUE(texts.at("rows").at(0).contains("seen")) << dump_json(texts);
  EXPECT_EQ(texts.at("learns_next"), false);
  const OrderedJson masked = json("/api/data?file=rows.jsonl&model=mlm&task=mlm").at("rows").at(0);
  EXPECT_TRUE(masked.at("seen").at("tokens").at(0).at("label").is_null());  // [CLS] is never hidden
}

// An adapter is shown as its model reads rows, also one that is a GGUF file; its own tokenizer takes precedence.
TEST_F(DataPage, AnAdapterIsShownWithItsModel) {
  copy_golden("sft/model", "chat");
  const Result<Pretrained> chat = open_pretrained(at("chat"));
  ASSERT_TRUE(chat.ok());
  put("below/base/notes.txt", "");
  ASSERT_TRUE(save_gguf(at("below/base/chat.gguf"), *chat->weights, *chat, "f32").ok());
  const auto adapter_of = [](const std::string& base) {
    return dump_json(OrderedJson{{"peft_type", "LORA"}, {"base_model_name_or_path", base}});
  };
  put("below/steps/run/adapter_config.json", adapter_of("base"));
  put("below/rows.jsonl", "{\"prompt\": \"one two\", \"completion\": \"three\"}\n");
  put("below/ids.jsonl", "{\"input_ids\": [5, 6, 7]}\n");
  put_run("r1", "steps/run", "sft",
          {{"train_file", {"rows.jsonl"}}, {"model_name_or_path", "base"}});
  // The page's own link names the adapter, and shows rows.
  const OrderedJson data = json("/api/data");
  EXPECT_EQ(data.at("models"), OrderedJson::array({"base/chat.gguf"}));
  EXPECT_EQ(text_at(data.at("sets").at(0).at("runs").at(0), "model"), "steps/run");
  const auto of = [&](const std::string& model) {
    return seen_text("/api/data?file=rows.jsonl&task=sft&model=" + model);
  };
  const std::string own = of("base/chat.gguf");
  EXPECT_NE(own.find('='), std::string::npos) << own;
  EXPECT_EQ(of("base"), own);
  EXPECT_EQ(of("steps/run"), own);
  const std::string ids = seen_text("/api/data?file=ids.jsonl&model=steps/run");
  EXPECT_EQ(ids, seen_text("/api/data?file=ids.jsonl&model=base"));
  // A registered adapter may belong to a model anywhere; one below the folder may not.
  put("lora/adapter_config.json", adapter_of(at("chat")));
  put("below/outside/adapter_config.json", adapter_of(at("chat")));
  put("below/again/adapter_config.json", adapter_of("again"));
  put("below/gone/adapter_config.json", adapter_of("nobody/no-model"));
  Result<Registry> registry = Registry::open(at("registry.db"));
  ASSERT_TRUE(registry.ok());
  ModelVersion v;
  v.model = "news", v.source = at("lora"), v.hash = "sha256:1", v.task = "sft";
  ASSERT_TRUE(registry->add_version(v).ok());
  EXPECT_EQ(of("news"), own);
  const auto refused = [&](const std::string& model) {
    const OrderedJson answer = json("/api/data?file=rows.jsonl&task=sft&model=" + model, 400);
    return text_at(answer, "code") + " " + text_at(answer, "error");
  };
  EXPECT_NE(refused("outside").find("outside the folders"), std::string::npos);
  EXPECT_NE(refused("again").find("is an adapter too"), std::string::npos);
  EXPECT_NE(refused("gone").find("is not on this machine"), std::string::npos);
}

TEST_F(DataPage, TheSettingsOfARunDecide) {
  copy_golden("pairs/t5", "below/t5");
  put("below/pairs.csv", "body;short\n");
  put("below/pairs.jsonl", "{\"body\": \"The ferry leaves.\", \"short\": \"It leaves.\"}\n");
  put_run("r1", "run", "summarization",
          {{"train_file", {"pairs.jsonl"}},
           {"source_prefix", "summarize: "},
           {"max_source_length", 4},
           {"learning_rate", 0.1}});
  const std::string path = "/api/data?file=pairs.jsonl&model=t5&task=summarization";
  const OrderedJson plain = json(path).at("rows").at(0).at("seen"),
                    with = json(path + "&run=r1").at("rows").at(0).at("seen");
  EXPECT_EQ(with.at("source_count"), 4);
  EXPECT_GT(plain.at("source_count"), 4);
  EXPECT_NE(plain.at("source").at(0), with.at("source").at(0));
  EXPECT_EQ(text_at(json(path + "&run=nope", 404), "code"), "H3112");
  // The settings that training left beside the model, if there is no run.
  put("below/t5/hone_task.json",
      R"({"task": "summarization", "settings": {"source_prefix": "summarize: ", "max_source_length": 5}})");
  ui_.reset();
  const OrderedJson own = json("/api/data?file=pairs.jsonl&model=t5");
  EXPECT_EQ(text_at(own, "task"), "summarization");
  EXPECT_EQ(own.at("rows").at(0).at("seen").at("source_count"), 5);
}

TEST_F(DataPage, PreparedRowsLeadToTheFilesThatTheyWereMadeOf) {
  copy_golden("pairs/t5", "below/t5");
  put("below/pairs.jsonl",
      "{\"n\": 1, \"body\": \"The ferry leaves.\", \"short\": \"It leaves.\"}\n");
  ShardManifest made;
  made.settings = {{"task", "summarization"}, {"text_column", "body"}, {"summary_column", "short"}};
  made.sources = OrderedJson::array({{{"split", "train"}, {"file", "pairs.jsonl"}}});
  put("below/shards/hone_shards.json", made.to_json());
  put_run("r1", "run", "summarization", {{"train_file", {"shards"}}, {"max_source_length", 4}});
  const OrderedJson data = json("/api/data"), set = data.at("sets").at(0);
  EXPECT_EQ(text_at(set, "kind"), "prepared");
  EXPECT_EQ(text_at(set.at("sources").at(0), "file"), "pairs.jsonl");
  // The columns are those of hone prepare; the run itself did not need them.
  const OrderedJson page = json("/api/data?file=pairs.jsonl&model=t5&run=r1"),
                    row = page.at("rows").at(0);
  EXPECT_EQ(text_at(page, "task"), "summarization");
  ASSERT_TRUE(row.contains("seen")) << dump_json(row);
  EXPECT_EQ(row.at("seen").at("source_count"), 4);
}

TEST_F(DataPage, RowsThatTheTaskLeavesOutSayWhy) {
  copy_golden("pairs/t5", "below/t5");
  put("below/pairs.jsonl",
      "{\"document\": \"The ferry leaves.\", \"summary\": \"It leaves.\"}\n"
      "{\"document\": \"\", \"summary\": \"Nothing.\"}\n");
  const OrderedJson rows =
      json("/api/data?file=pairs.jsonl&model=t5&task=summarization").at("rows");
  EXPECT_TRUE(rows.at(0).contains("seen"));
  EXPECT_FALSE(rows.at(1).contains("seen"));
  EXPECT_NE(text_at(rows.at(1), "left_out").find("empty"), std::string::npos) << dump_json(rows);
  // A row that is too long for a page is not given to the task.
  put("below/long.jsonl", "{\"text\": \"" + std::string(300 << 10, 'a') + "\"}\n");
  const OrderedJson cut = json("/api/data?file=long.jsonl&model=t5&task=summarization").at("rows");
  EXPECT_NE(text_at(cut.at(0), "left_out").find("256"), std::string::npos);
  EXPECT_LT(text_at(cut.at(0).at("cells"), "text").size(), 21000u);
}

// A column may have any name and any text; addresses beside the rows hold no secrets.
TEST_F(DataPage, CellsAreShownWhateverTheirNames) {
  const std::string row =
      R"({"token": "Anna", "password": "abc", "chat": [{"auth": "x", "api_key": "y"}], )"
      R"("text": "call --token abc at https://me:word@h/x?sig=1"})";
  put("below/rows.jsonl", row + "\n");
  const OrderedJson data = json("/api/data?file=rows.jsonl");
  EXPECT_EQ(data.at("rows").at(0).at("cells"), OrderedJson::parse(row));
  put_run("r1", "run", "clm", {{"train_file", {"https://me:word@h/x?sig=1"}}});
  EXPECT_EQ(ask("/api/data").body.find("word@"), std::string::npos);
}

TEST_F(DataPage, PreparedRowsAreShownAsTheyAre) {
  copy_golden("tiny_text_gpt2", "below/gpt2");
  put("below/ids.jsonl", "{\"input_ids\": [5, 6, 7], \"labels\": [-100, 6, 7]}\n");
  const OrderedJson data = json("/api/data?file=ids.jsonl&model=gpt2");
  EXPECT_TRUE(data.at("prepared").get<bool>());
  const OrderedJson tokens = data.at("rows").at(0).at("seen").at("tokens");
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens.at(1).at("id"), 6);
  EXPECT_TRUE(tokens.at(0).at("label").is_null());
  EXPECT_FALSE(tokens.at(1).at("label").is_null());
}

TEST_F(DataPage, WhatCannotBeShownIsRefused) {
  copy_golden("sft/model", "below/chat");
  put("below/rows.jsonl", "{\"text\": \"the cat\"}\n");
  put("below/empty/tokenizer.json", "{}");
  put("secret.jinja", "{{ 'the secret' }}");
  put_run("r1", "run", "sft", {{"chat_template_path", "../secret.jinja"}});
  const auto code = [&](const std::string& more, int status) {
    return text_at(json("/api/data?file=rows.jsonl" + more, status), "code");
  };
  EXPECT_EQ(code("&model=chat&task=clasification", 400), err::kWebView.id);
  EXPECT_EQ(code("&model=empty&task=clm", 400), err::kWebView.id);
  EXPECT_EQ(code("&model=../../etc&task=clm", 404), "H3135");
  EXPECT_EQ(code("&model=chat&task=sft&run=r1", 404), err::kNotBelow.id);
  EXPECT_EQ(ask("/api/data?file=rows.jsonl&model=chat&task=sft&run=r1").body.find("the secret"),
            std::string::npos);
}

}  // namespace
}  // namespace hone
