// Writer::roll(): writes a function again, with its layers as loops.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "engine/backends/xla/roll.h"

namespace hone::xla {
namespace {

class Roller {
 public:
  Roller(Writer& writer, const Body& body, const std::vector<Layer>& layers,
         const std::vector<StateStack>& stacks)
      : w(writer),
        b(body),
        layers_(layers),
        stacks_(stacks),
        now_(body.values.size()),
        loop_of_(body.statements.size(), Body::kNone),
        kept_(layers.size()),
        written_(layers.size()),
        read_(stacks.size()) {
    for (size_t l = 0; l < layers.size(); ++l)
      std::fill(loop_of_.begin() + static_cast<std::ptrdiff_t>(layers[l].begin),
                loop_of_.begin() + static_cast<std::ptrdiff_t>(layers[l].end()),
                static_cast<int32_t>(l));
    for (const StateStack& s : stacks) {
      arrays_.push_back(s.array);
      replaced_.emplace_back(s.rows.size(), false);
    }
  }

  // The results, then the new versions of the stacks that have one.
  Refs write() {
    find_written();
    find_kept();
    for (size_t v = 0; v < b.values.size(); ++v)
      if (b.values[v].statement == Body::kNone && b.values[v].stack == Body::kNone)
        now_[v] = b.values[v].ref;
    for (size_t i = 0; i < b.statements.size();) {
      if (const int32_t l = loop_of_[i]; l >= 0) {
        write_loop(static_cast<size_t>(l));
        i = layers_[static_cast<size_t>(l)].end();
        continue;
      }
      const Body::Parsed& s = b.statements[i++];
      Refs in;
      for (const Body::Operand& o : s.operands) in.push_back(outside(o.value));
      w.statement(with_names(s, in));
      for (int32_t r = 0; r < s.result_count; ++r) {
        const auto v = static_cast<size_t>(s.first_result + r);
        now_[v] = b.values[v].ref;
      }
    }
    Refs results;
    for (const int32_t v : b.results) results.push_back(outside(v));
    set_other_rows();
    for (size_t s = 0; s < stacks_.size(); ++s)
      if (has_next(s)) results.push_back(arrays_[s]);
    return results;
  }

 private:
  using Place = std::pair<int32_t, int32_t>;  // a statement of a layer, and a result of it
  // Rows of an array that turns read or write: first + step * turn.
  struct Rows {
    int64_t first = 0, step = 1;
    bool operator==(const Rows&) const = default;
  };
  // A result that is read after the loop.
  struct Kept {
    bool all = false;  // of several turns; false: of the last one
    Ref values;        // [count, ...], or the last one, once the loop is written
  };
  // A stack of which each turn replaces a row.
  struct Written {
    size_t stack;
    Place place;
    Rows rows;
  };
  struct Turn {
    size_t layer;
    int64_t turn;
    Place place;
  };

  Turn turn_of(int32_t value) const {
    const Body::Value& v = b.value(value);
    const auto l = static_cast<size_t>(loop_of_[static_cast<size_t>(v.statement)]);
    const size_t at = static_cast<size_t>(v.statement) - layers_[l].begin;
    return {l,
            static_cast<int64_t>(at / layers_[l].period),
            {static_cast<int32_t>(at % layers_[l].period), v.result}};
  }
  bool of_loop(int32_t value) const {
    const int32_t s = b.value(value).statement;
    return s != Body::kNone && loop_of_[static_cast<size_t>(s)] >= 0;
  }
  const Ref& type_at(const Layer& l, Place p) const {
    const Body::Parsed& s = b.statements[l.begin + static_cast<size_t>(p.first)];
    return b.value(s.first_result + p.second).ref;
  }
  bool has_next(size_t s) const {
    return std::any_of(b.next[s].begin(), b.next[s].end(),
                       [](int32_t v) { return v != Body::kNone; });
  }

  // The rows of all turns, if they are at equal distances.
  static std::optional<Rows> rows_of(const std::vector<int64_t>& each) {
    const Rows rows{each[0], each[1] - each[0]};
    for (size_t k = 0; k < each.size(); ++k)
      if (each[k] != rows.first + rows.step * static_cast<int64_t>(k)) return std::nullopt;
    return rows;
  }

  // The rows of a stack that turns of one loop replace, at equal distances.
  void find_written() {
    for (size_t s = 0; s < stacks_.size(); ++s) {
      std::map<std::pair<size_t, Place>, std::map<int64_t, int64_t>> found;  // rows by turn
      for (size_t k = 0; k < b.next[s].size(); ++k) {
        const int32_t v = b.next[s][k];
        if (v == Body::kNone || !of_loop(v)) continue;
        const Turn t = turn_of(v);
        found[{t.layer, t.place}].emplace(t.turn, static_cast<int64_t>(k));
      }
      for (const auto& [at, rows] : found) {
        const Layer& l = layers_[at.first];
        if (static_cast<int64_t>(rows.size()) != l.count) continue;
        std::vector<int64_t> each;  // the map has all turns, in order
        for (const auto& [turn, row] : rows) each.push_back(row);
        const auto at_distances = rows_of(each);
        if (!at_distances) continue;
        written_[at.first].push_back({s, at.second, *at_distances});
        for (const auto& [turn, row] : rows) written_rows_.emplace(s, row);
      }
    }
  }

  void keep(int32_t value) {
    if (value == Body::kNone || !of_loop(value)) return;
    const Turn t = turn_of(value);
    kept_[t.layer][t.place].all |= t.turn + 1 < layers_[t.layer].count;
  }
  void find_kept() {
    for (size_t i = 0; i < b.statements.size(); ++i)
      if (loop_of_[i] < 0)
        for (const Body::Operand& o : b.statements[i].operands) keep(o.value);
    for (const Layer& l : layers_)
      for (const auto& operands : l.operands)
        for (const LayerOperand& o : operands)
          for (const int32_t v : o.each) keep(v);
    for (const int32_t v : b.results) keep(v);
    for (size_t s = 0; s < stacks_.size(); ++s)
      for (size_t k = 0; k < b.next[s].size(); ++k)
        if (!written_rows_.contains({s, static_cast<int64_t>(k)})) keep(b.next[s][k]);
  }

  // The version of a stack whose row has the value of the program's start. An older version costs a copy.
  const Ref& array_with(size_t s, int64_t row) const {
    return replaced_[s][static_cast<size_t>(row)] ? stacks_[s].array : arrays_[s];
  }

  // A value, for a statement outside of loops.
  const Ref& outside(int32_t value) {
    Ref& made = now_[static_cast<size_t>(value)];
    if (!made.name.empty()) return made;
    const Body::Value& v = b.value(value);
    if (v.stack != Body::kNone) {
      const Ref& array = array_with(static_cast<size_t>(v.stack), v.row);
      made = w.row(array, w.whole(static_cast<uint64_t>(v.row), "i32"), v.ref.shape);
      read_[static_cast<size_t>(v.stack)].push_back(value);
      return made;
    }
    const Turn t = turn_of(value);
    const Kept& k = kept_[t.layer].at(t.place);
    made = k.values;
    if (k.all) {
      const Ref row = w.whole(static_cast<uint64_t>(t.turn), "i32");
      made = in_one_order(w.row(k.values, row, v.ref.shape), 2);
    }
    return made;
  }

  // The newest version of a stack, to write rows. All rows that were read from it come before, and later statements have
  // them from the barrier: the compiler would copy the stack to read a row of it once more.
  Ref array_to_write(size_t s) {
    const std::vector<int32_t> rows = std::exchange(read_[s], {});
    if (rows.empty()) return arrays_[s];
    Refs before;
    for (const int32_t v : rows) before.push_back(now_[static_cast<size_t>(v)]);
    before.push_back(arrays_[s]);
    const Refs after = w.barrier(before);
    for (size_t i = 0; i < rows.size(); ++i) now_[static_cast<size_t>(rows[i])] = after[i];
    return after.back();
  }

  static std::string with_names(const Body::Parsed& s, const Refs& in) {
    std::string text;
    size_t done = 0;
    for (size_t j = 0; j < s.operands.size(); ++j) {
      text.append(s.text, done, s.operands[j].at - done);
      text += in[j].name;
      done = s.operands[j].at + s.operands[j].length;
    }
    return text.append(s.text, done);
  }

  // An array that has the values of an operand in all turns as rows.
  struct Source {
    Ref values;
    Rows rows;
    Shape row;  // of a value
    // Its place in the carried values, if it is a stack that the loop writes.
    std::optional<size_t> carried = {};
  };
  Ref row_number(const Rows& rows, const Ref& turn) {
    Ref at = turn;
    const int64_t distance = rows.step < 0 ? -rows.step : rows.step;
    if (distance != 1)
      at = w.binary("multiply", at, w.whole(static_cast<uint64_t>(distance), "i32"));
    const auto first = static_cast<uint64_t>(rows.first);
    if (rows.step < 0) return w.binary("subtract", w.whole(first, "i32"), at);
    return first == 0 ? at : w.binary("add", w.whole(first, "i32"), at);
  }

  // A loop that is being written.
  struct Loop {
    const Layer& layer;
    const std::vector<Written>& written;
    const std::map<Place, Kept>& kept;
    std::vector<size_t> stacks;  // of `written`, each once
    Refs carried;                // `stacks`, then values of turns before, then `kept`
    size_t first_kept = 0;
    std::map<std::vector<int32_t>, Source> sources;
    // By place and first values: the place of the first carried value. That of the turn before comes last.
    std::map<std::pair<Place, std::vector<int32_t>>, size_t> chains;
    Refs tables;  // by statement: its constants in all turns, if they differ
    // The place of a stack in `carried`.
    size_t carried_of(size_t stack) const {
      return static_cast<size_t>(std::find(stacks.begin(), stacks.end(), stack) - stacks.begin());
    }
  };

  // The array of the values of an operand that reads another value in each turn.
  Source source_of(const std::vector<int32_t>& each, const Loop& loop) {
    const int32_t stack = b.value(each[0]).stack;
    const Shape& shape = b.value(each[0]).ref.shape;
    std::vector<int64_t> numbers;
    if (stack != Body::kNone) {
      for (const int32_t v : each)
        if (b.value(v).stack == stack) numbers.push_back(b.value(v).row);
    } else if (of_loop(each[0])) {
      const Turn first = turn_of(each[0]);
      for (const int32_t v : each)
        if (of_loop(v))
          if (const Turn t = turn_of(v); t.layer == first.layer && t.place == first.place)
            numbers.push_back(t.turn);
    }
    const auto at = numbers.size() == each.size() ? rows_of(numbers) : std::nullopt;
    if (at && stack != Body::kNone) {
      const auto s = static_cast<size_t>(stack);
      const bool replaced = std::any_of(numbers.begin(), numbers.end(), [&](int64_t row) {
        return replaced_[s][static_cast<size_t>(row)];
      });
      Source found{replaced ? stacks_[s].array : arrays_[s], *at, shape};
      for (const Written& x : loop.written)
        if (!replaced && x.stack == s && x.rows == *at) found.carried = loop.carried_of(s);
      return found;
    }
    if (at) {
      const Turn first = turn_of(each[0]);
      return {kept_[first.layer].at(first.place).values, *at, shape};
    }
    Refs rows;
    for (const int32_t v : each) {
      const Ref& x = outside(v);
      Shape one = x.shape;
      one.insert(one.begin(), 1);
      rows.push_back(w.reshape(x, one));
    }
    return {w.concat(rows, 0), {}, shape};
  }

  Loop begin_loop(size_t number) {
    const Layer& l = layers_[number];
    Loop loop{l, written_[number], kept_[number], {}, {}, 0, {}, {}, Refs(l.period)};
    for (const Written& x : loop.written)
      if (std::find(loop.stacks.begin(), loop.stacks.end(), x.stack) == loop.stacks.end())
        loop.stacks.push_back(x.stack);
    loop.carried.resize(loop.stacks.size());
    for (const auto& operands : l.operands)
      for (const LayerOperand& o : operands) {
        if (o.from == LayerOperand::From::outside) outside(o.each[0]);
        if (o.from == LayerOperand::From::each_turn && !loop.sources.contains(o.each))
          loop.sources.emplace(o.each, source_of(o.each, loop));
        if (o.from != LayerOperand::From::earlier) continue;
        const std::pair chain(Place(o.statement, o.result), o.each);
        if (!loop.chains.emplace(chain, loop.carried.size()).second) continue;
        for (const int32_t v : o.each) loop.carried.push_back(outside(v));
      }
    for (size_t o = 0; o < l.period; ++o)
      if (!l.constants[o].empty())
        loop.tables[o] = w.table(l.constants[o], type_at(l, {static_cast<int32_t>(o), 0}).element);
    for (size_t i = 0; i < loop.stacks.size(); ++i)
      loop.carried[i] = array_to_write(loop.stacks[i]);
    loop.first_kept = loop.carried.size();
    for (const auto& [place, kept] : loop.kept) {
      const Ref& one = type_at(l, place);
      Shape shape = one.shape;
      if (kept.all) shape.insert(shape.begin(), l.count);
      loop.carried.push_back(w.number(0, one.element, shape));
    }
    return loop;
  }

  // Writes the statements of a turn, and returns their results.
  std::map<Place, Ref> write_statements(const Loop& loop, const Ref& turn, const Refs& now) {
    std::map<const Source*, Ref> rows;
    const auto row_of = [&](const Source& s) {
      Ref& row = rows[&s];
      if (!row.name.empty()) return row;
      row = w.row(s.carried ? now[*s.carried] : s.values, row_number(s.rows, turn), s.row);
      // The row is read before the turn writes it. Else the compiler would read it again for each result of the turn, and
      // would copy the stack for that in each turn.
      if (s.carried) row = w.barrier({row})[0];
      return row = in_one_order(row, 2);
    };
    std::map<Place, Ref> made;
    const auto value_of = [&](const LayerOperand& x) {
      const Place place(x.statement, x.result);
      switch (x.from) {
        case LayerOperand::From::layer:
          return made.at(place);
        case LayerOperand::From::earlier:
          return now[loop.chains.at({place, x.each})];
        case LayerOperand::From::each_turn:
          return row_of(loop.sources.at(x.each));
        default:
          return outside(x.each[0]);
      }
    };
    for (size_t o = 0; o < loop.layer.period; ++o) {
      const Body::Parsed& s = b.statements[loop.layer.begin + o];
      const auto at = static_cast<int32_t>(o);
      if (!loop.tables[o].name.empty()) {
        made[{at, 0}] = w.row(loop.tables[o], turn);
        continue;
      }
      Refs in;
      for (const LayerOperand& x : loop.layer.operands[o]) in.push_back(value_of(x));
      w.statement(with_names(s, in));
      for (int32_t r = 0; r < s.result_count; ++r) made[{at, r}] = b.value(s.first_result + r).ref;
    }
    return made;
  }

  // The carried values of the next turn.
  Refs next_turn(const Loop& loop, const Ref& turn, const Refs& now,
                 const std::map<Place, Ref>& made) {
    Refs next = now;
    for (const Written& x : loop.written) {
      Ref& array = next[loop.carried_of(x.stack)];
      array = w.set_row(array, row_number(x.rows, turn), made.at(x.place));
    }
    for (const auto& [chain, at] : loop.chains) {
      const size_t length = chain.second.size();
      for (size_t i = 0; i + 1 < length; ++i) next[at + i] = now[at + i + 1];
      next[at + length - 1] = made.at(chain.first);
    }
    size_t at = loop.first_kept;
    for (const auto& [place, kept] : loop.kept) {
      next[at] =
          kept.all ? in_one_order(w.set_row(now[at], turn, made.at(place)), 3) : made.at(place);
      ++at;
    }
    return next;
  }

  void write_loop(size_t number) {
    const Loop loop = begin_loop(number);
    const Refs after =
        w.loop(loop.layer.count, loop.carried, [&](const Ref& turn, const Refs& now) {
          return next_turn(loop, turn, now, write_statements(loop, turn, now));
        });
    for (size_t i = 0; i < loop.stacks.size(); ++i) arrays_[loop.stacks[i]] = after[i];
    for (const Written& x : loop.written)
      for (int64_t turn = 0; turn < loop.layer.count; ++turn)
        replaced_[x.stack][static_cast<size_t>(x.rows.first + x.rows.step * turn)] = true;
    size_t at = loop.first_kept;
    for (auto& [place, kept] : kept_[number]) kept.values = after[at++];
  }

  // The compiler of TPUs chooses an order of dimensions in each loop, and copies a whole stack between two loops that
  // differ. It has no such constraint for types of 64 bits.
  Ref in_one_order(const Ref& x, size_t least_rank) {
    const bool wide = x.element.ends_with("64");
    const bool constrained =
        w.integers() == Integers::of_32_bits && x.shape.size() >= least_rank && !wide;
    return constrained ? w.row_major(x) : x;
  }

  // The new rows that no loop writes.
  void set_other_rows() {
    for (size_t s = 0; s < stacks_.size(); ++s)
      for (size_t k = 0; k < b.next[s].size(); ++k) {
        const int32_t v = b.next[s][k];
        if (v == Body::kNone || written_rows_.contains({s, static_cast<int64_t>(k)})) continue;
        const Body::Value& value = b.value(v);
        if (value.stack == static_cast<int32_t>(s) && value.row == static_cast<int32_t>(k))
          continue;
        const Ref made = outside(v);
        arrays_[s] = w.set_row(array_to_write(s), w.whole(k, "i32"), made);
        replaced_[s][k] = true;
      }
  }

  Writer& w;
  const Body& b;
  const std::vector<Layer>& layers_;
  const std::vector<StateStack>& stacks_;
  Refs now_;                                   // by value; without a name: not written, or a row
  std::vector<int32_t> loop_of_;               // by statement: its layer
  std::vector<std::map<Place, Kept>> kept_;    // by layer
  std::vector<std::vector<Written>> written_;  // by layer
  std::set<std::pair<size_t, int64_t>> written_rows_;  // stack and row: those of written_
  std::vector<std::vector<int32_t>> read_;   // by stack: values that are rows of its newest version
  Refs arrays_;                              // by stack: its newest version
  std::vector<std::vector<bool>> replaced_;  // by stack and row: arrays_ has the new value
};

}  // namespace

Refs Writer::roll(const Refs& arguments, const Refs& results, const std::vector<StateStack>& stacks,
                  int64_t fewest_layers) {
  std::vector<Statement> statements;
  for (size_t i = 0; i < statements_.size(); ++i) {
    const size_t begin = statements_[i].begin,
                 end = i + 1 < statements_.size() ? statements_[i + 1].begin : body_.size();
    statements.push_back({body_.substr(begin, end - begin), std::move(statements_[i].results)});
  }
  body_.clear();
  statements_.clear();
  std::vector<Run> runs;
  // A plug-in for the CPU runs loops side by side, on each device in another order, and pairs the collectives of its
  // devices in the order of their calls.
  const bool collectives = integers_ == Integers::of_32_bits;
  const Body body = parse_body(statements, arguments, results, stacks, runs);
  return Roller(*this, body, find_layers(body, runs, fewest_layers, collectives), stacks).write();
}

}  // namespace hone::xla
