#include "learn/configs/llama_factory_data.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/configs/chat_format.h"
#include "learn/configs/data_files.h"

namespace hone {
namespace {

// The texts of LLaMA-Factory's templates. After a user's message comes the beginning of the answer, as there.
ChatFormat like_chatml(std::string name, std::string usual_system = "") {
  return {.name = std::move(name),
          .system_begin = R"('<|im_start|>system\n')",
          .system_end = R"('<|im_end|>\n')",
          .user_begin = R"('<|im_start|>user\n')",
          .user_end = R"('<|im_end|>\n<|im_start|>assistant\n')",
          .answer_end = R"('<|im_end|>\n')",
          .usual_system = std::move(usual_system)};
}

ChatFormat like_gemma(std::string name) {
  return {.name = std::move(name),
          .start = "bos_token",
          .system_begin = "''",
          .system_end = R"('\n\n')",
          .user_begin = R"('<start_of_turn>user\n')",
          .user_end = R"('<end_of_turn>\n<start_of_turn>model\n')",
          .answer_end = R"('<end_of_turn>\n')",
          .system_in_user = true};
}

std::vector<ChatFormat> llama_factory_formats() {
  return {
      like_chatml("chatml"),
      like_chatml("qwen3_nothink"),
      like_chatml("qwen", "'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.'"),
      like_gemma("gemma"),
      like_gemma("gemma2"),
      like_gemma("gemma3"),
      {.name = "llama3",
       .start = "bos_token",
       .system_begin = R"('<|start_header_id|>system<|end_header_id|>\n\n')",
       .system_end = "'<|eot_id|>'",
       .user_begin = R"('<|start_header_id|>user<|end_header_id|>\n\n')",
       .user_end = R"('<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n')",
       .answer_end = "'<|eot_id|>'"},
      {.name = "phi4",
       .system_begin = "'<|im_start|>system<|im_sep|>'",
       .system_end = "'<|im_end|>'",
       .user_begin = "'<|im_start|>user<|im_sep|>'",
       .user_end = "'<|im_end|><|im_start|>assistant<|im_sep|>'",
       .answer_end = "'<|im_end|>'"},
      {.name = "alpaca",
       .system_begin = "''",
       .system_end = "''",
       .user_begin = R"('### Instruction:\n')",
       .user_end = R"('\n\n### Response:\n')",
       .answer_end = R"(eos_token + '\n\n')",
       .usual_system = "'Below is an instruction that describes a task. Write a response that "
                       "appropriately completes the request.\\n\\n'"},
      {.name = "default",
       .system_begin = "'System: '",
       .system_end = R"(eos_token + '\n')",
       .user_begin = "'Human: '",
       .user_end = R"(eos_token + '\nAssistant:')",
       .answer_end = R"(eos_token + '\n')"}};
}

// A data set of dataset_info.json, for the task.
class DataEntry {
 public:
  DataEntry(const ConfigBlock& file, const std::string& key, const std::string& name,
            const Json& entry)
      : file_(file), key_(key), name_(name), entry_(entry) {}

  // false: hone cannot read it, and an error says why.
  bool fits(const std::string& task) const {
    const bool alpaca = text(entry_, "formatting", "alpaca") == "alpaca";
    const Json columns = entry_.value("columns", Json::object());
    const Json tags = entry_.value("tags", Json::object());
    for (const char* media : {"images", "videos", "audios"})
      if (columns.contains(media)) return cannot(fmt::format("it has {}", media), "use texts");
    if (task == "clm") {
      const std::string column = text(columns, "prompt", "instruction");
      file_.set("text_column", column, key_);
      return true;
    }
    std::vector<std::pair<const char*, const char*>> wanted;
    if (task == "dpo" || task == "reward")
      wanted = {{"prompt", "prompt"}, {"chosen", "chosen"}, {"rejected", "rejected"}};
    else if (task == "kto")
      wanted = {{"prompt", "prompt"}, {"response", "completion"}, {"kto_tag", "label"}};
    else if (alpaca)
      wanted = {{"prompt", "instruction"}, {"query", "input"}, {"response", "output"}};
    const bool mapped = entry_.contains("columns");
    for (const auto& [key, column] : wanted) {
      // A column that the entry leaves out is LLaMA-Factory's own only if it maps none.
      const std::string usual = mapped ? "" : usual_column(key);
      const std::string is = text(columns, key, usual);
      if (is != column && !(is.empty() && std::string(key) == "query"))
        return cannot(
            fmt::format("its {} is the column '{}'", key, is),
            fmt::format("rename the column to {}, in the data and in {}", column, info()));
    }
    if (task == "sft" && !alpaca) {
      const std::string messages = text(columns, "messages", "conversations");
      if (messages != "messages" && messages != "conversations")
        return cannot(fmt::format("its messages are in the column {}", messages),
                      "rename it to messages");
      const std::string role = text(tags, "role_tag", "from"),
                        content = text(tags, "content_tag", "value"),
                        user = text(tags, "user_tag", "human"),
                        assistant = text(tags, "assistant_tag", "gpt");
      if (!((role == "from" && content == "value") || (role == "role" && content == "content")) ||
          !((user == "human" && assistant == "gpt") ||
            (user == "user" && assistant == "assistant")))
        return cannot("its messages have other keys or roles",
                      "hone reads role and content with user and assistant, or from and value with "
                      "human and gpt");
    }
    return true;
  }

  NamedData data(const std::string& folder) const {
    NamedData d;
    d.key = key_;
    if (const std::string hub = text(entry_, "hf_hub_url", ""); !hub.empty()) {
      d.name = hub;
      d.config = text(entry_, "subset", "");
      d.split = text(entry_, "split", "");
    } else {
      d.name = folder + "/" + text(entry_, "file_name", "");
    }
    return d;
  }
  bool is_somewhere() const {
    if (entry_.contains("hf_hub_url") || entry_.contains("file_name")) return true;
    return cannot("it is neither on the hub nor a file", "give it hf_hub_url or file_name");
  }

 private:
  static std::string text(const Json& from, const char* key, const std::string& otherwise) {
    const auto it = from.find(key);
    return it != from.end() && it->is_string() ? it->get<std::string>() : otherwise;
  }
  static std::string usual_column(const std::string& key) {
    return key == "prompt"     ? "instruction"
           : key == "query"    ? "input"
           : key == "response" ? "output"
                               : "";
  }
  std::string info() const { return file_.text("dataset_dir", "data") + "/dataset_info.json"; }
  bool cannot(const std::string& why, const std::string& remedy) const {
    file_.cannot(fmt::format("hone cannot read the data set {} of {}: {}", name_, info(), why),
                 key_, remedy);
    return false;
  }

  const ConfigBlock& file_;
  std::string key_, name_;
  const Json& entry_;
};

std::vector<NamedData> data_sets(const ConfigBlock& b, const std::string& key,
                                 const std::string& task) {
  std::vector<NamedData> all;
  const std::string folder = b.text("dataset_dir", "data");
  std::vector<std::string> names;
  for (const std::string& part : b.texts(key))
    for (const std::string& name : split(part, ',')) names.emplace_back(trim(name));
  if (folder == "ONLINE") {
    for (const std::string& name : names) all.push_back({name, key});
    return all;
  }
  if (folder.starts_with("REMOTE:")) {
    b.cannot_be("dataset_dir", "download the folder, and name it");
    return all;
  }
  const Result<Json> info = read_json_file(folder + "/dataset_info.json");
  if (!info.ok()) {
    Error e = info.error();
    b.reading.out.errors.push_back(std::move(e.at(b.reading.place(b.place_of(key)))));
    return all;
  }
  for (const std::string& name : names) {
    const auto entry = info->find(name);
    if (entry == info->end() || !entry->is_object()) {
      std::vector<std::string> known;
      for (const auto& [one, value] : info->items()) known.push_back(one);
      const std::string near = nearest_name(name, known);
      b.cannot(fmt::format("{}/dataset_info.json has no data set '{}'", folder, name), key,
               near.empty() ? "add it there" : fmt::format("did you mean {}?", near));
      continue;
    }
    const DataEntry one(b, key, name, *entry);
    if (one.is_somewhere() && one.fits(task)) all.push_back(one.data(folder));
  }
  return all;
}

}  // namespace

void read_llama_factory_data(const ConfigBlock& b, const std::string& task) {
  if (!b.has("dataset"))
    return b.cannot("the file names no data", "dataset", "name an entry of dataset_info.json");
  const std::vector<NamedData> data = data_sets(b, "dataset", task);
  if (data.empty()) return;
  set_train_data(b, data);
  if (b.has("max_samples")) {
    if (task == "sft" && is_data_file(data.front().name))
      b.set("max_samples_per_file", b.at("max_samples"), "max_samples");
    else if (data.size() > 1)
      b.cannot_be("max_samples", "remove it: it limits each data set, and hone the rows of all");
    else
      for (const char* setting : {"max_train_samples", "max_eval_samples"})
        b.set(setting, b.at("max_samples"), "max_samples");
  }
  std::vector<std::string> files;
  for (const NamedData& one : data_sets(b, "eval_dataset", task)) {
    if (!is_data_file(one.name))
      return b.cannot(fmt::format("{} is not a file", one.name), "eval_dataset",
                      "name files, or use val_size");
    files.push_back(one.name);
  }
  if (!files.empty()) b.set("validation_file", files, "eval_dataset");
  const double share = b.number("val_size", 0);
  if (share >= 1) return b.cannot_be("val_size", "write a share of the rows, such as 0.1");
  if (share > 0) b.set("validation_split_percentage", 100 * share, "val_size");
  if ((share > 0 || !files.empty()) && !b.has("do_eval"))
    b.set("do_eval", true, share > 0 ? "val_size" : "eval_dataset");
}

void read_llama_factory_template(const ConfigBlock& b) {
  const std::string name = b.text("template");
  if (name.empty()) return;
  std::vector<std::string> known;
  for (const ChatFormat& f : llama_factory_formats()) {
    if (f.name == name) return b.set("chat_template_path", chat_template_of(f), "template");
    known.push_back(f.name);
  }
  b.cannot_be("template",
              "remove it: the model's own chat template is used then; or write one of " +
                  join(known, ", "));
}

}  // namespace hone
