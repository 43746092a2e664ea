#include "learn/configs/axolotl_datasets.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/configs/chat_format.h"
#include "learn/configs/data_files.h"

namespace hone {
namespace {

// Axolotl's own templates, of those whose text is as simple as this.
const std::vector<ChatFormat>& axolotl_formats() {
  static const std::vector<ChatFormat> all = {
      {.name = "chatml",
       .system_begin = R"('<|im_start|>system\n')",
       .system_end = R"('<|im_end|>\n')",
       .user_begin = R"('<|im_start|>user\n')",
       .user_end = R"('<|im_end|>\n')",
       .answer_begin = R"('<|im_start|>assistant\n')",
       .answer_end = "'<|im_end|>'",
       .after_answer = R"('\n')"},
      {.name = "llama3",
       .start = "bos_token",
       .system_begin = R"('<|start_header_id|>system<|end_header_id|>\n\n')",
       .system_end = "'<|eot_id|>'",
       .user_begin = R"('<|start_header_id|>user<|end_header_id|>\n\n')",
       .user_end = "'<|eot_id|>'",
       .answer_begin = R"('<|start_header_id|>assistant<|end_header_id|>\n\n')",
       .answer_end = "'<|eot_id|>'",
       .trims = true}};
  return all;
}

enum class RowKind { none, chat, alpaca, completion, pairs, reward };

RowKind kind_of(const ConfigBlock& item, const std::string& rl, bool reward) {
  const std::string type = item.text("type");
  const auto is = [&](const char* name) { return type == name; };
  if (reward && is("bradley_terry.chat_template")) return RowKind::reward;
  if (!rl.empty() && is("chat_template.default")) return RowKind::pairs;
  if (rl.empty() && !reward) {
    if (is("chat_template")) return RowKind::chat;
    if (is("alpaca")) return RowKind::alpaca;
    if (is("completion")) return RowKind::completion;
  }
  item.cannot(fmt::format("hone has no rows of the type '{}'", type), "type",
              reward ? "use bradley_terry.chat_template"
              : rl.empty()
                  ? "use chat_template, alpaca or completion, with the columns of these types"
                  : "use chat_template.default, with the columns prompt, chosen and rejected");
  return RowKind::none;
}

// hone reads messages with role and content, or from and value, in the columns messages and conversations.
void check_columns(const ConfigBlock& item, RowKind kind) {
  const std::string why = "rename the columns of the data: hone reads ";
  if (kind == RowKind::pairs) {
    const auto named = [&](const char* key, const char* usual, const char* column) {
      if (item.text(key, usual) != column)
        item.cannot(fmt::format("the prompts of hone's pairs are in the column {}, not {}", column,
                                item.text(key, usual)),
                    item.has(key) ? key : "type", why + "prompt, chosen and rejected");
    };
    named("field_messages", "messages", "prompt");
    named("field_chosen", "chosen", "chosen");
    named("field_rejected", "rejected", "rejected");
  } else if (const std::string column = item.text("field_messages", "messages");
             column != "messages" && column != "conversations") {
    item.cannot_be("field_messages", why + "messages or conversations");
  }
  const ConfigBlock names = item.block("message_property_mappings");
  const std::string role = names.text("role", item.text("message_field_role", "role")),
                    content = names.text("content", item.text("message_field_content", "content"));
  if (!(role == "role" && content == "content") && !(role == "from" && content == "value"))
    item.cannot(fmt::format("messages of {} and {}", role, content), "message_property_mappings",
                why + "role and content, or from and value");
  const ConfigBlock roles = item.block("roles");
  const auto only_known = [](std::vector<std::string> words) {
    return only(std::move(words),
                "rename the roles of the data: hone knows system, user (human) "
                "and assistant (gpt)");
  };
  roles.walk({{"system", only_known({"system"})},
              {"user", only_known({"user", "human"})},
              {"assistant", only_known({"assistant", "gpt"})},
              {"tool", only_known({"tool"})}});
}

void read_item(const ConfigBlock& item, RowKind kind) {
  const bool chat = kind == RowKind::chat;
  if (chat || kind == RowKind::pairs || kind == RowKind::reward) check_columns(item, kind);
  const std::string roles =
      "hone learns the assistant's messages, or all with train_on_inputs: true";
  const std::string columns =
      "rename the column of the data: hone reads instruction, input and output";
  item.walk({{"path", seen()},
             {"name", seen()},
             {"revision", seen()},
             {"split", seen()},
             {"data_files", seen()},
             {"type", seen()},
             {"field", seen()},
             {"chat_template", only({"tokenizer_default"}, "give chat_template for all data sets")},
             {"field_messages", seen()},
             {"field_chosen", seen()},
             {"field_rejected", seen()},
             {"message_property_mappings", seen()},
             {"message_field_role", seen()},
             {"message_field_content", seen()},
             {"roles", seen()},
             {"roles_to_train", only({"assistant", "gpt"}, roles)},
             {"train_on_eos", only({"turn"}, "the end of each answer is learnt: write turn")},
             {"train_on_eot", only({"turn"}, "the end of each answer is learnt: write turn")},
             {"field_instruction", only({"instruction"}, columns)},
             {"field_input", only({"input"}, columns)},
             {"field_output", only({"output"}, columns)},
             {"ds_type"},
             {"trust_remote_code"},
             {"preprocess_shards"},
             {"input_transform", refused("remove it")},
             {"drop_system_message", refused("remove these messages from the data")},
             {"split_thinking", refused("remove it")},
             {"shards", refused("train_file takes one of the files")}});
}

std::vector<NamedData> names_of(const ConfigBlock& file, const std::string& list, size_t i) {
  const std::string key = fmt::format("{}/{}", list, i);
  const ConfigBlock item{file.reading, file.at(list)[i], file.place_of(key)};
  const auto data = [&](const std::string& name) {
    return NamedData{name, key, item.text("name"), item.text("revision"), item.text("split")};
  };
  std::vector<NamedData> all;
  for (const std::string& one : item.texts("data_files")) all.push_back(data(one));
  if (all.empty()) all.push_back(data(item.text("path")));
  return all;
}

void read_template(const ConfigBlock& b) {
  const std::string key = "chat_template", name = b.text(key);
  if (name.empty() || name.starts_with("tokenizer_default")) return;
  if (name == "jinja") {
    if (b.has("chat_template_jinja"))
      return b.set("chat_template_path", b.at("chat_template_jinja"), "chat_template_jinja");
    return b.cannot_be(key, "add chat_template_jinja: the template's text");
  }
  if (name.find("{{") != name.npos || name.find("{%") != name.npos)
    return b.set("chat_template_path", name, key);
  for (const ChatFormat& f : axolotl_formats())
    if (f.name == name) return b.set("chat_template_path", chat_template_of(f), key);
  b.cannot_be(key,
              "write tokenizer_default, for the model's own template; or jinja, with "
              "chat_template_jinja");
}

void read_validation(const ConfigBlock& b, AxolotlTask& task) {
  if (const Json& sets = b.at("test_datasets"); sets.is_array() && !sets.empty()) {
    std::vector<std::string> files;
    for (size_t i = 0; i < sets.size(); ++i)
      for (const NamedData& one : names_of(b, "test_datasets", i)) {
        if (!is_data_file(one.name))
          return b.cannot(fmt::format("{} is not a file", one.name), one.key,
                          "name files, or use val_set_size");
        files.push_back(one.name);
      }
    b.set("validation_file", files, "test_datasets");
    task.evaluates = true, task.evaluates_by = "test_datasets";
    return;
  }
  const double share = b.number("val_set_size", 0);
  if (share <= 0) return;
  if (share >= 1) return b.cannot_be("val_set_size", "write a share of the rows, such as 0.05");
  b.set("validation_split_percentage", 100 * share, "val_set_size");
  task.evaluates = true, task.evaluates_by = "val_set_size";
}

struct AxolotlRows {
  RowKind kind = RowKind::none;  // none: an error says why
  std::vector<NamedData> data = {};
  std::string field = "text";
};

AxolotlRows read_items(const ConfigBlock& b, const std::string& rl, bool reward) {
  if (b.has("pretraining_dataset"))
    b.cannot("pretraining_dataset is not supported", "pretraining_dataset",
             "write it under datasets with type: completion");
  const Json& list = b.at("datasets");
  if (!list.is_array() || list.empty()) {
    if (!b.has("pretraining_dataset"))
      b.cannot("the file names no data", "datasets", "list path and type under datasets");
    return {};
  }
  if (!rl.empty() && rl != "dpo" && rl != "ipo") {
    b.cannot_be("rl", "use rl: dpo or ipo; hone train --task kto has flags of its own");
    return {};
  }
  AxolotlRows rows;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string key = fmt::format("datasets/{}", i);
    if (!list[i].is_object()) {
      b.cannot("a data set is a map with path and type", key, "write - path: NAME and type: TYPE");
      return {};
    }
    const ConfigBlock item{b.reading, list[i], b.place_of(key)};
    if (item.at("type").is_object()) {
      item.cannot("hone has no prompts that a file describes", "type",
                  "make the data of the columns prompt and completion");
      return {};
    }
    const RowKind its = kind_of(item, rl, reward);
    if (its == RowKind::none) return {};
    if (rows.kind != RowKind::none && its != rows.kind)
      item.cannot("data sets of different types in one run", "type", "give them one type");
    rows.kind = its;
    read_item(item, its);
    rows.field = item.text("field", "text");
    for (NamedData& one : names_of(b, "datasets", i)) rows.data.push_back(std::move(one));
  }
  return rows;
}

// The tokens that are learnt, and their loss.
void read_learnt(const ConfigBlock& b, const AxolotlRows& rows) {
  const bool learns_all = b.flag("train_on_inputs");
  const std::string key = b.has("train_on_inputs") ? "train_on_inputs" : "datasets";
  if (rows.kind == RowKind::chat) {
    b.set("assistant_only_loss", !learns_all, key);
  } else if (rows.kind == RowKind::alpaca) {
    b.set("alpaca_prompt", "always", "datasets");
    b.set("completion_only_loss", !learns_all, key);
  } else if (rows.kind == RowKind::completion) {
    b.set("packing", true, "datasets");
    b.set("text_column", rows.field, "datasets");
  } else if (rows.kind == RowKind::pairs) {
    if (b.text("rl") == "ipo") b.set("loss_type", Json::array({"ipo"}), "rl");
    for (const auto& [own, setting] : {std::pair("rl_beta", "beta"),
                                       {"dpo_beta", "beta"},
                                       {"dpo_loss_type", "loss_type"},
                                       {"dpo_label_smoothing", "label_smoothing"}})
      if (b.has(own)) b.set(setting, b.at(own), own);
  } else if (b.has("center_rewards_coefficient")) {
    b.set("center_rewards_coefficient", b.at("center_rewards_coefficient"),
          "center_rewards_coefficient");
  }
}

}  // namespace

AxolotlTask read_axolotl_datasets(const ConfigBlock& b) {
  AxolotlTask task;
  const bool reward = b.flag("reward_model");
  const std::string rl = b.text("rl");
  const AxolotlRows rows = read_items(b, rl, reward);
  if (rows.kind == RowKind::none) return task;
  task.name = rows.kind == RowKind::completion ? "clm"
              : rows.kind == RowKind::pairs    ? "dpo"
              : rows.kind == RowKind::reward   ? "reward"
                                               : "sft";
  b.set("task", task.name, reward ? "reward_model" : rl.empty() ? "datasets" : "rl");
  set_train_data(b, rows.data);
  read_validation(b, task);
  read_learnt(b, rows);
  const bool chats = rows.kind != RowKind::alpaca && rows.kind != RowKind::completion;
  if (chats)
    read_template(b);
  else if (b.has("chat_template"))
    b.reading.without_effect.push_back("chat_template");
  return task;
}

}  // namespace hone
