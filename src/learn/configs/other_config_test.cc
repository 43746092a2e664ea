// Settings files of other programs as hone's settings; chat templates as the programs write their messages.
#include "learn/configs/other_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "learn/chat/chat_template.h"
#include "learn/configs/errors.h"

namespace hone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kAxolotl = R"(base_model: org/tiny
model_type: LlamaForCausalLM
datasets:
  - path: rows.jsonl
    type: chat_template
    field_messages: conversations
    message_property_mappings:
      role: from
      content: value
chat_template: chatml
val_set_size: 0.05
sequence_len: 64
sample_packing: true
adapter: qlora
load_in_4bit: true
lora_r: 8
lora_alpha: 16
lora_target_linear: true
gradient_accumulation_steps: 4
micro_batch_size: 2
num_epochs: 2
optimizer: adamw_bnb_8bit
lr_scheduler: cosine
cosine_min_lr_ratio: 0.1
learning_rate: 2e-4
bf16: auto
warmup_ratio: 0.1
evals_per_epoch: 4
saves_per_epoch: 1
wandb_project: tests
resume_from_checkpoint:
special_tokens:
  pad_token: <pad>
)";

OtherFile read_other(const std::string& text, const std::string& name = "run.yaml") {
  const std::optional<OtherFile> file = read_other_config(text, name);
  EXPECT_TRUE(file.has_value());
  return file.value_or(OtherFile{});
}

Json setting_of(const OtherFile& file, const std::string& name) {
  Json value = "unset";
  for (const OtherFile::Entry& e : file.entries)
    if (e.setting == name) value = e.value;
  return value;
}

std::string place_of(const OtherFile& file, const std::string& name) {
  for (const OtherFile::Entry& e : file.entries)
    if (e.setting == name) return e.place;
  return "unset";
}

std::string errors_of(const OtherFile& file) {
  std::string all;
  for (const Error& e : file.errors) all += e.text() + "\n";
  return all;
}

std::string rendered(const std::string& source, const OrderedJson& messages, bool prompts = false) {
  const Result<ChatTemplate> chat = ChatTemplate::parse(source);
  if (!chat.ok()) return chat.error().text();
  const Result<ChatText> text = chat->render({{"messages", messages},
                                              {"add_generation_prompt", prompts},
                                              {"bos_token", "<s>"},
                                              {"eos_token", "</s>"}});
  if (!text.ok()) return text.error().text();
  std::string marked = text->text;  // answers in brackets
  for (auto span = text->generated.rbegin(); span != text->generated.rend(); ++span)
    marked.insert(span->to, "]").insert(span->from, "[");
  return marked;
}

const OrderedJson kChat = {{{"role", "system"}, {"content", "Be kind."}},
                           {{"role", "user"}, {"content", " hi"}},
                           {{"role", "assistant"}, {"content", "hello "}}};

TEST(OtherConfig, HonesOwnFilesAreNone) {
  EXPECT_FALSE(read_other_config("task: sft\nmodel_name_or_path: x\ntemplate: y\n", "a.yaml"));
  EXPECT_FALSE(read_other_config("model_name_or_path: x\ndo_train: true\n", "a.yaml"));
  EXPECT_FALSE(read_other_config("- base_model: x\n", "a.yaml"));
  EXPECT_FALSE(read_other_config("base_model: [x\n", "a.yaml"));  // the settings' reader says why
}

TEST(OtherConfig, AxolotlBecomesSettings) {
  const OtherFile file = read_other(kAxolotl);
  EXPECT_EQ(errors_of(file), "");
  const std::map<std::string, Json> wanted = {{"task", "sft"},
                                              {"do_train", true},
                                              {"do_eval", true},
                                              {"model_name_or_path", "org/tiny"},
                                              {"output_dir", "./model-out"},
                                              {"train_file", {"rows.jsonl"}},
                                              {"assistant_only_loss", true},
                                              {"max_length", "64"},
                                              {"excess_length_strategy", "drop"},
                                              {"validation_split_percentage", 5.0},
                                              {"use_peft", true},
                                              {"load_in_4bit", true},
                                              {"use_bnb_nested_quant", true},
                                              {"bnb_4bit_compute_dtype", "bfloat16"},
                                              {"lora_r", "8"},
                                              {"lora_dropout", 0.0},
                                              {"lora_target_modules", {"all-linear"}},
                                              {"per_device_train_batch_size", "2"},
                                              {"per_device_eval_batch_size", "2"},
                                              {"gradient_accumulation_steps", "4"},
                                              {"num_train_epochs", "2"},
                                              {"optim", "adamw_bnb_8bit"},
                                              {"lr_scheduler_type", "cosine_with_min_lr"},
                                              {"lr_scheduler_kwargs", {{"min_lr_rate", 0.1}}},
                                              {"warmup_ratio", "0.1"},
                                              {"bf16", true},
                                              {"eval_strategy", "steps"},
                                              {"eval_steps", 0.125},
                                              {"save_strategy", "steps"},
                                              {"save_steps", 0.5},
                                              {"resume_from_checkpoint", "unset"}};
  for (const auto& [name, value] : wanted) EXPECT_EQ(setting_of(file, name), value) << name;
  EXPECT_EQ(place_of(file, "lora_r"), "run.yaml:16:1 lora_r");
  EXPECT_EQ(place_of(file, "train_file"), "run.yaml:4:5 datasets.0");
  ASSERT_EQ(file.notices.size(), 2u);
  EXPECT_THAT(file.notices[0], HasSubstr("run.yaml:13:1 sample_packing: "));
  EXPECT_THAT(file.notices[1], AllOf(HasSubstr("without effect"), HasSubstr("wandb_project"),
                                     HasSubstr("pad_token")));
}

TEST(OtherConfig, AxolotlsTasks) {
  const std::string head =
      "base_model: m\nmicro_batch_size: 1\nwarmup_steps: 1\ndatasets:\n  - path: ";
  const OtherFile alpaca = read_other(head + "a.json\n    type: alpaca\ntrain_on_inputs: true\n");
  EXPECT_EQ(setting_of(alpaca, "alpaca_prompt"), "always");
  EXPECT_EQ(setting_of(alpaca, "completion_only_loss"), false);
  EXPECT_EQ(setting_of(alpaca, "warmup_steps"), 2);  // as its trainer makes of 1
  EXPECT_EQ(setting_of(alpaca, "num_train_epochs"), 1);
  EXPECT_EQ(setting_of(alpaca, "lr_scheduler_type"), "cosine");
  const OtherFile plain = read_other(
      head +
      "org/set\n    name: en\n    split: train[:5%]\n    type: completion\n    field: body\n");
  EXPECT_EQ(setting_of(plain, "task"), "clm");
  EXPECT_EQ(setting_of(plain, "dataset_name"), "org/set");
  EXPECT_EQ(setting_of(plain, "dataset_config_name"), "en");
  EXPECT_EQ(setting_of(plain, "fraction_of_train_data"), 0.05);
  EXPECT_EQ(setting_of(plain, "text_column"), "body");
  EXPECT_EQ(setting_of(plain, "packing"), true);
  EXPECT_EQ(setting_of(plain, "block_size"), 512);
  const OtherFile pairs = read_other(head +
                                     "p.jsonl\n    type: chat_template.default\n    "
                                     "field_messages: prompt\nrl: ipo\nrl_beta: 0.2\n");
  EXPECT_EQ(errors_of(pairs), "");
  EXPECT_EQ(setting_of(pairs, "task"), "dpo");
  EXPECT_EQ(setting_of(pairs, "loss_type"), Json::array({"ipo"}));
  EXPECT_EQ(setting_of(pairs, "beta"), "0.2");
  const OtherFile reward =
      read_other(head + "p.jsonl\n    type: bradley_terry.chat_template\nreward_model: true\n");
  EXPECT_EQ(setting_of(reward, "task"), "reward");
}

TEST(OtherConfig, WhatHoneLacksIsRefusedByNameAndLine) {
  const OtherFile file = read_other(std::string(kAxolotl) +
                                    "unfrozen_parameters: [lm_head]\nlora_rr: 4\nrelora: true\n"
                                    "gptq: false\nlr_quadratic_warmup: true\n");
  ASSERT_EQ(file.errors.size(), 4u);
  EXPECT_TRUE(file.errors[0].is(err::kOtherConfigKey));
  EXPECT_THAT(file.errors[0].text(),
              AllOf(HasSubstr("hone does not know Axolotl's key 'unfrozen_parameters'"),
                    HasSubstr("run.yaml:34:1 unfrozen_parameters")));
  EXPECT_THAT(file.errors[1].text(), HasSubstr("did you mean lora_r?"));
  EXPECT_TRUE(file.errors[2].is(err::kOtherConfigValue));
  EXPECT_THAT(file.errors[2].text(),
              AllOf(HasSubstr("relora: true is not supported"), HasSubstr("run.yaml:36:1 relora")));
  EXPECT_THAT(file.errors[3].text(), HasSubstr("lr_quadratic_warmup"));
  const std::string head = "base_model: m\nmicro_batch_size: 1\n";
  for (const auto& [more, message] :
       {std::pair("datasets: []\n", "the file names no data"),
        {"datasets:\n  - path: x\n    type: sharegpt\n", "no rows of the type 'sharegpt'"},
        {"datasets:\n  - {path: a, type: alpaca}\n  - {path: b, type: alpaca}\n",
         "a is one of several data sets, and not a file"},
        {"datasets:\n  - {path: a, type: chat_template, roles_to_train: [user]}\n",
         "datasets.0.roles_to_train"},
        {"datasets:\n  - {path: a, type: chat_template, split: test}\n", "the split 'test'"},
        {"datasets:\n  - {path: a, type: chat_template}\nchat_template: qwen3_5\n",
         "chat_template: qwen3_5 is not supported"},
        {"datasets:\n  - {path: a, type: chat_template}\nrl: grpo\n", "rl: grpo"},
        {"datasets:\n  - {path: a, type: alpaca}\nval_set_size: 100\n", "val_set_size: 100"},
        {"datasets:\n  - {path: a, type: alpaca}\nadapter: lora\n", "an adapter without lora_r"},
        {"datasets:\n  - {path: a, type: alpaca}\nadapter: lora\nlora_r: 1\nlora_alpha: 1\n"
         "lora_target_modules: 'layers.[0-9]+.q_proj'\n",
         "lora_target_modules"},
        {"datasets:\n  - {path: a, type: alpaca}\nspecial_tokens: {eos_token: x}\n",
         "special_tokens.eos_token: x is not supported"}})
    EXPECT_THAT(errors_of(read_other(head + more)), HasSubstr(message)) << more;
}

TEST(OtherConfig, AxolotlsTemplates) {
  const auto source = [](const std::string& name) {
    const OtherFile file = read_other(
        "base_model: m\nmicro_batch_size: 1\ndatasets: [{path: a.json, type: chat_template}]\n"
        "chat_template: " +
        name + "\n");
    return setting_of(file, "chat_template_path").get<std::string>();
  };
  EXPECT_EQ(rendered(source("chatml"), kChat),
            "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\n hi<|im_end|>\n"
            "<|im_start|>assistant\n[hello <|im_end|>]\n");
  EXPECT_EQ(rendered(source("llama3"), {{{"role", "user"}, {"content", " hi"}}}, true),
            "<s><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(source("tokenizer_default"), "unset");
  EXPECT_EQ(source("\"{{ messages[0]['content'] }}\""), "{{ messages[0]['content'] }}");
  EXPECT_EQ(source("jinja\nchat_template_jinja: \"{{ 1 }}\""), "{{ 1 }}");
}

class LlamaFactory : public ::testing::Test {
 protected:
  LlamaFactory() : folder(::testing::TempDir() + "/llama_factory_data") {
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/dataset_info.json") << R"({
      "one": {"file_name": "one.json"},
      "two": {"file_name": "two.json", "formatting": "sharegpt", "columns": {"messages": "messages"},
              "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}},
      "hub": {"hf_hub_url": "org/set", "subset": "en"},
      "odd": {"file_name": "odd.json", "columns": {"prompt": "question", "response": "answer"}},
      "seen": {"file_name": "s.json", "columns": {"images": "images"}},
      "pairs": {"file_name": "p.json", "ranking": true,
                "columns": {"prompt": "prompt", "chosen": "chosen", "rejected": "rejected"}}})";
  }
  OtherFile read(const std::string& more) const {
    return read_other("model_name_or_path: org/tiny\ndataset_dir: " + folder + "\n" + more);
  }
  std::string folder;
};

TEST_F(LlamaFactory, BecomesSettings) {
  const OtherFile file = read(
      "stage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 4\nlora_target: q_proj, "
      "v_proj\n"
      "dataset: one,two\ntemplate: qwen\nmax_samples: 10\nval_size: 0.1\nlearning_rate: "
      "1.0e-4\nbf16: true\n"
      "quantization_bit: 4\nplot_loss: true\nresume_from_checkpoint: null\nddp_timeout: "
      "180000000\n");
  EXPECT_EQ(errors_of(file), "");
  const std::map<std::string, Json> wanted = {
      {"task", "sft"},
      {"do_train", "true"},
      {"do_eval", true},
      {"use_peft", true},
      {"lora_r", "4"},
      {"lora_alpha", 8.0},
      {"lora_dropout", 0.0},
      {"lora_target_modules", {"q_proj", "v_proj"}},
      {"train_file", {folder + "/one.json", folder + "/two.json"}},
      {"max_samples_per_file", "10"},
      {"max_length", 2048},
      {"assistant_only_loss", true},
      {"completion_only_loss", false},
      {"alpaca_prompt", "never"},
      {"validation_split_percentage", 10.0},
      {"learning_rate", "1.0e-4"},
      {"load_in_4bit", true},
      {"use_bnb_nested_quant", true},
      {"bnb_4bit_compute_dtype", "bfloat16"},
      {"ddp_timeout", 1000000},
      {"resume_from_checkpoint", "unset"}};
  for (const auto& [name, value] : wanted) EXPECT_EQ(setting_of(file, name), value) << name;
  EXPECT_EQ(place_of(file, "learning_rate"), "run.yaml:12:1 learning_rate");
  EXPECT_THAT(file.notices.back(), HasSubstr("plot_loss"));
  EXPECT_EQ(
      rendered(setting_of(file, "chat_template_path"),
               {{{"role", "user"}, {"content", "a"}}, {{"role", "assistant"}, {"content", "b"}}}),
      "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
      "assistant.<|im_end|>\n"
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n[b<|im_end|>\n]");
}

TEST_F(LlamaFactory, Templates) {
  const auto text = [&](const std::string& name) {
    const OtherFile file = read("stage: sft\ndataset: one\ntemplate: " + name + "\n");
    return rendered(setting_of(file, "chat_template_path"), kChat);
  };
  EXPECT_EQ(text("llama3"),
            "<s><|start_header_id|>system<|end_header_id|>\n\nBe kind.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\n hi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n[hello <|eot_id|>]");
  EXPECT_EQ(text("gemma3"),
            "<s><start_of_turn>user\nBe kind.\n\n hi<end_of_turn>\n<start_of_turn>model\n"
            "[hello <end_of_turn>\n]");
  EXPECT_EQ(text("alpaca"), "Be kind.### Instruction:\n hi\n\n### Response:\n[hello </s>\n\n]");
  EXPECT_THAT(errors_of(read("stage: sft\ndataset: one\ntemplate: nowhere\n")),
              AllOf(HasSubstr("template: nowhere is not supported"), HasSubstr("chatml")));
}

TEST_F(LlamaFactory, StagesAndRefusals) {
  const OtherFile dpo =
      read("stage: dpo\nfinetuning_type: full\ndataset: pairs\npref_beta: 0.3\npref_loss: hinge\n");
  EXPECT_EQ(errors_of(dpo), "");
  EXPECT_EQ(setting_of(dpo, "task"), "dpo");
  EXPECT_EQ(setting_of(dpo, "use_peft"), "unset");
  EXPECT_EQ(setting_of(dpo, "beta"), "0.3");
  EXPECT_EQ(setting_of(dpo, "loss_type"), Json::array({"hinge"}));
  const OtherFile pt = read("stage: pt\ndataset: hub\n");
  EXPECT_EQ(setting_of(pt, "task"), "clm");
  EXPECT_EQ(setting_of(pt, "dataset_name"), "org/set");
  EXPECT_EQ(setting_of(pt, "dataset_config_name"), "en");
  EXPECT_EQ(setting_of(pt, "block_size"), 2048);
  for (const auto& [more, message] :
       {std::pair("stage: ppo\ndataset: one\n", "stage: ppo"),
        {"stage: sft\ndataset: onee\n", "did you mean one?"},
        {"stage: sft\ndataset: odd\n", "its prompt is the column 'question'"},
        {"stage: sft\ndataset: seen\n", "it has images"},
        {"stage: dpo\ndataset: one\n", "its prompt is the column 'instruction'"},
        {"stage: sft\ndataset: one\nfinetuning_type: oft\n", "finetuning_type: oft"},
        {"stage: sft\ndataset: one\nuse_galore: true\n", "run.yaml:5:1 use_galore"},
        {"stage: sft\ndataset: one\nmask_history: true\n", "mask_history: true"},
        {"stage: sft\ndataset: one\npacking: true\n", "neat_packing"},
        {"stage: sft\n", "the file names no data"}})
    EXPECT_THAT(errors_of(read(more)), HasSubstr(message)) << more;
}

}  // namespace
}  // namespace hone
