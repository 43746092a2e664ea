// "RobertaProcessing":  <s> A </s>  and  <s> A </s> </s> B </s>,  every segment id 0.
// "BertProcessing":  [CLS] A [SEP]  and  [CLS] A [SEP] B [SEP],  the segment of B and after it 1.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class Around : public PostProcessor {
 public:
  Around(bool bert, int32_t cls, int32_t sep) : bert_(bert), cls_(cls), sep_(sep) {}

  void process(std::vector<Encoding>& parts) const override {
    for (size_t i = 0; i < parts.size(); ++i) {
      auto& ids = parts[i].ids;
      if (i == 0)
        ids.insert(ids.begin(), cls_);
      else if (!bert_)
        ids.insert(ids.begin(), sep_);
      ids.push_back(sep_);
      parts[i].type_ids.assign(ids.size(), bert_ && i > 0);
    }
  }

 private:
  bool bert_;
  int32_t cls_, sep_;
};

// ["</s>", 2]
Result<int32_t> id_of_pair(const JsonAt& spec) {
  const auto pair = HONE_TRY(spec.array());
  int64_t id;
  if (pair.size() != 2 || pair.at(1).get(id) || id < 0 || id > Vocabulary::kMaxId)
    return spec.expected("[token, id]");
  return static_cast<int32_t>(id);
}

Result<std::unique_ptr<PostProcessor>> make_post_processor_roberta(const JsonAt& spec,
                                                                   const StageContext&) {
  const int32_t cls = HONE_TRY(id_of_pair(HONE_TRY(spec.get("cls"))));
  const int32_t sep = HONE_TRY(id_of_pair(HONE_TRY(spec.get("sep"))));
  const bool bert = HONE_TRY(spec.string("type")) == "BertProcessing";
  return std::unique_ptr<PostProcessor>(std::make_unique<Around>(bert, cls, sep));
}

}  // namespace

StageType tokenizer_stage_post_processor_roberta() {
  return {.types = {"RobertaProcessing", "BertProcessing"},
          .post_processor = make_post_processor_roberta};
}

}  // namespace hone
