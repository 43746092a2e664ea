// "TemplateProcessing": the sequences and special tokens of a template, one for a single text and
// one for a pair, each element with its segment id.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

struct Element {
  int sequence = -1;  // 0 = A, 1 = B, -1 = the special tokens `ids`
  std::vector<int32_t> ids;
  int32_t type_id = 0;
};
using Template = std::vector<Element>;

class Processor : public PostProcessor {
 public:
  Processor(Template single, Template pair) : single_(std::move(single)), pair_(std::move(pair)) {}

  void process(std::vector<Encoding>& parts) const override {
    Encoding out;
    for (const Element& e : parts.size() > 1 ? pair_ : single_) {
      const auto& ids = e.sequence < 0 ? e.ids : parts[static_cast<size_t>(e.sequence)].ids;
      out.ids.insert(out.ids.end(), ids.begin(), ids.end());
      out.type_ids.resize(out.ids.size(), e.type_id);
    }
    parts.clear();
    parts.push_back(std::move(out));
  }

 private:
  Template single_, pair_;
};

Result<Template> read_template(const JsonAt& list, const JsonAt& specials, int sequences) {
  Template result;
  size_t index = 0;
  for (const JsonElement element : HONE_TRY(list.array())) {
    const JsonAt at = list.item(element, index++);
    Element e;
    const auto sequence = at.find("Sequence");
    const JsonAt body = sequence ? *sequence : HONE_TRY(at.get("SpecialToken"));
    const JsonAt type_id = HONE_TRY(body.get("type_id"));
    e.type_id = static_cast<int32_t>(HONE_TRY(type_id.integer()));
    const std::string_view id = HONE_TRY(body.string("id"));
    if (sequence) {
      e.sequence = id == "B" ? 1 : 0;
      if (e.sequence >= sequences)
        return body.expected("the sequence A in the template of a single text");
    } else {
      const JsonAt ids = HONE_TRY(HONE_TRY(specials.get(id)).get("ids"));
      for (const JsonElement token : HONE_TRY(ids.array())) {
        int64_t value;
        if (token.get(value) || value < 0 || value > Vocabulary::kMaxId)
          return ids.expected("a list of token ids");
        e.ids.push_back(static_cast<int32_t>(value));
      }
    }
    result.push_back(std::move(e));
  }
  return result;
}

Result<std::unique_ptr<PostProcessor>> make_post_processor_template(const JsonAt& spec,
                                                                    const StageContext&) {
  const JsonAt specials = HONE_TRY(spec.get("special_tokens"));
  auto single = HONE_TRY(read_template(HONE_TRY(spec.get("single")), specials, 1));
  auto pair = HONE_TRY(read_template(HONE_TRY(spec.get("pair")), specials, 2));
  return std::unique_ptr<PostProcessor>(
      std::make_unique<Processor>(std::move(single), std::move(pair)));
}

}  // namespace

StageType tokenizer_stage_post_processor_template() {
  return {.types = {"TemplateProcessing"}, .post_processor = make_post_processor_template};
}

}  // namespace hone
