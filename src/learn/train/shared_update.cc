#include "learn/train/shared_update.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/core/hash.h"
#include "engine/ops/collective_parts.h"
#include "learn/train/exchanges.h"
#include "learn/train/update_groups.h"

namespace hone {
namespace {

const Type kDouble{DType::f64, {}};

class SharedUpdate {
 public:
  SharedUpdate(Program& program, const std::vector<UpdateWeight>& weights,
               const UpdateOptions& options)
      : p(program),
        weights_(weights),
        options_(options),
        share_(options.share),
        b_(program),
        splits_(split_weights(weights, options)),
        groups_(groups_of(weights, options.group_bytes)),
        reduced_(weights.size(), kNoValue),
        exchanges_(program) {
    b_.set_phase(Phase::update);
    for (size_t i = 0; i < weights.size(); ++i) {
      held_.push_back(splits_[i].held(weights[i].type, share_));
      here_.push_back(weights[i].type);
      if (is_cut(i)) here_[i].shape[0] = held_[i].count();
    }
    for (size_t i = 0; i < p.states.size(); ++i) state_of_[p.states[i].name] = i;
  }

  void share_gradients(const Values& gradients, bool accumulate) {
    if (options_.split_invariant)
      fold(gradients, accumulate);
    else
      reduce(gradients, false, [&](const WeightGroup& g) { keep(g, accumulate); });
    exchanges_.put_in_place();
  }

  void update(const Values& gradients, ValueId loss, bool reduced) {
    const ValueId lr = p.add_input("lr", kDouble), step = p.add_input("step", {DType::i64, {}});
    if (options_.scaled) loss_scale_ = p.add_input("loss_scale", kDouble);
    const ValueId stop = p.add_input("stop", kDouble);
    HONE_BUG_IF(options_.split_invariant && (!reduced || loss != kNoValue),
                "units are folded in stages 2 and 3, before the update");
    if (options_.split_invariant)
      gather_losses(stop);
    else
      sum_losses(loss == kNoValue ? p.add_input("local_loss", kDouble) : loss, stop);
    squares_.assign(groups_.size(), kNoValue);
    if (reduced) {
      reduced_ = gradients;
      if (!options_.replica.alone() && !options_.split_invariant) add_states_of_replicas();
      for (const WeightGroup& g : groups_)
        if (!options_.split_invariant) add_squares(g);
    } else {
      reduce(gradients, true, [&](const WeightGroup& g) { add_squares(g); });
    }
    exchanges_.put_in_place();
    clip();
    update_weights({lr, step});
    for (Named& o : p.outputs)
      if (o.name == "loss") o.value = loss_;
    if (p.output_named("loss") == kNoValue) p.outputs.push_back({"loss", loss_});
    p.outputs.push_back({"stops", stops_});
    p.outputs.push_back({"grad_norm", norm_});
  }

 private:
  bool is_cut(size_t i) const { return options_.stage >= 1 && !splits_[i].whole; }

  // The sums of this rank's loss and stop flag over all ranks. Ranks that divide products have one loss, which
  // counts on the first of them.
  void sum_losses(ValueId loss, ValueId stop) {
    ValueId gathered = kNoValue;
    b_.set_scope("loss");
    const bool counts = options_.tensor.rank == 0;
    const Share world = options_.world();
    const auto start = [&] {
      const ValueId both = ops::concat(
          b_, {ops::reshape(b_, own_loss(loss, counts), {1, 1}), ops::reshape(b_, stop, {1, 1})},
          1);
      gathered = gather(both, world);
    };
    exchanges_.add({loss}, start, [&] {
      const ValueId sums = ops::reduce_sum(b_, ops::wait(b_, gathered), {0});
      loss_ = ops::reshape(b_, ops::slice(b_, sums, 0, 0, 1), {});
      stops_ = ops::reshape(b_, ops::slice(b_, sums, 0, 1, 2), {});
    });
  }
  ValueId own_loss(ValueId loss, bool counts) {
    return counts ? ops::cast(b_, loss, DType::f64) : ops::constant(b_, 0.0, kDouble);
  }
  // The losses of all units, in their order: unit k is on rank k mod ranks, or on the ranks of this group.
  void gather_losses(ValueId stop) {
    const int64_t most = options_.units_per_rank();
    const ValueId losses = p.add_input("local_losses", {DType::f64, {most}});
    ValueId gathered = kNoValue;
    b_.set_scope("loss");
    const auto start = [&] {
      gathered = gather(
          ops::concat(b_, {ops::reshape(b_, losses, {1, most}), ops::reshape(b_, stop, {1, 1})}, 1),
          options_.world());
    };
    exchanges_.add({}, start, [&] {
      const ValueId all = ops::wait(b_, gathered);
      const int64_t groups = options_.world().ranks / options_.copies;
      ValueId by_group = ops::slice(b_, all, 1, 0, most);
      if (options_.copies > 1)
        by_group = ops::slice(b_, ops::reshape(b_, by_group, {groups, options_.copies * most}), 1,
                              0, most);
      const ValueId in_order =
          ops::reshape(b_, ops::transpose(b_, by_group, {1, 0}), {most * groups});
      // As many terms for any number of ranks.
      const ValueId units = ops::slice(b_, in_order, 0, 0, options_.units);
      loss_ = ops::reduce_sum(b_, units, {0});
      stops_ = ops::reduce_sum(b_, ops::slice(b_, all, 1, most, most + 1), {0, 1});
      p.outputs.push_back({"losses", units});
    });
  }
  // A row of each rank.
  ValueId gather(ValueId row, const Share& of) {
    return ops::all_gather(b_, {row}, {of.ranks}, {of})[0];
  }

  // Gradients of a group that one collective reduces.
  struct Bucket {
    bool cut = false;
    DType dtype = DType::f32;
    std::vector<size_t> weights;
  };
  // The sums of a bucket, or those that are on their way over the replicas.
  struct Reduced {
    Bucket bucket;
    size_t group = 0;
    bool ends_group = false;
    Values sums;
  };
  std::vector<Bucket> buckets_of(const WeightGroup& g, const Values& gradients) const {
    std::vector<Bucket> buckets;
    for (size_t i = g.begin; i < g.end; ++i) {
      const DType dtype = p.type(gradients[i]).dtype;
      auto at = std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& b) {
        return b.cut == is_cut(i) && b.dtype == dtype;
      });
      if (at == buckets.end()) at = buckets.insert(at, Bucket{is_cut(i), dtype, {}});
      at->weights.push_back(i);
    }
    return buckets;
  }

  // The backward pass makes the gradients of the last weights first. `done` follows when those of a
  // group are there. `over_all`: the sums are over replicas too, which are on their way during the next bucket's.
  template <class Done>
  void reduce(const Values& gradients, bool over_all, Done&& done) {
    std::optional<Reduced> before;
    const auto finish = [&](const Reduced& r) {
      for (size_t j = 0; j < r.sums.size(); ++j) {
        const size_t i = r.bucket.weights[j];
        reduced_[i] = r.sums[j];
        // A gradient that is a state may be written over.
        if (State* s = p.state_of(gradients[i]); s && !r.bucket.cut) s->next = reduced_[i];
      }
      if (r.ends_group) done(groups_[r.group]);
    };
    const auto finish_before = [&] {
      if (!before) return;
      for (ValueId& sum : before->sums) sum = ops::wait(b_, sum);
      finish(*before);
      before.reset();
    };
    for (size_t k = groups_.size(); k-- > 0;) {
      const std::vector<Bucket> buckets = buckets_of(groups_[k], gradients);
      for (const Bucket& bucket : buckets) {
        b_.set_scope("gradients." + weights_[bucket.weights[0]].name);
        Values operands, sums;
        for (const size_t i : bucket.weights) operands.push_back(gradients[i]);
        const auto start = [&] {
          sums = bucket.cut ? ops::reduce_scatter(b_, operands, split_of(bucket.weights))
                            : ops::all_reduce(b_, operands, share_);
        };
        exchanges_.add(operands, start, [&] {
          for (ValueId& sum : sums) sum = ops::wait(b_, sum);
          Reduced made{bucket, k, &bucket == &buckets.back(), sums};
          if (!over_all || options_.replica.alone()) return finish(made);
          made.sums = over_replicas(sums);
          finish_before();
          before = std::move(made);
        });
      }
    }
    finish_before();
  }
  // Begins the sums over the replicas of the rows that this rank holds.
  Values over_replicas(const Values& sums) {
    Attrs attrs;
    set_split(attrs, {options_.replica});
    attrs.set("first", share_.rank);
    attrs.set("stride", share_.ranks);
    return b_.emit("all_reduce", sums, attrs);
  }
  // The states of gradients have the sums of a group alone.
  void add_states_of_replicas() {
    for (const WeightGroup& g : groups_) {
      std::vector<size_t> held;
      for (size_t i = g.begin; i < g.end; ++i)
        if (reduced_[i] != kNoValue) held.push_back(i);
      while (!held.empty()) {
        const DType dtype = p.type(reduced_[held[0]]).dtype;
        const auto others = std::stable_partition(
            held.begin(), held.end(), [&](size_t i) { return p.type(reduced_[i]).dtype == dtype; });
        const std::vector<size_t> bucket(held.begin(), others);
        held.erase(held.begin(), others);
        b_.set_scope("gradients." + weights_[bucket[0]].name);
        Values states, sums;
        for (const size_t i : bucket) states.push_back(reduced_[i]);
        exchanges_.add(
            states, [&] { sums = over_replicas(states); },
            [&] {
              for (size_t j = 0; j < sums.size(); ++j)
                p.state_of(states[j])->next = reduced_[bucket[j]] = ops::wait(b_, sums[j]);
            });
      }
    }
  }
  // Gradients of units become states, or are added to them in the order of units.
  void fold(const Values& gradients, bool accumulate) {
    const ValueId present = p.add_input("present", {DType::i64, {}});
    for (size_t k = groups_.size(); k-- > 0;)
      for (const Bucket& bucket : buckets_of(groups_[k], gradients)) {
        b_.set_scope("gradients." + weights_[bucket.weights[0]].name);
        Values terms, sums, made;
        std::vector<int64_t> states;  // index, or -1: this rank has none of it
        for (const size_t i : bucket.weights) terms.push_back(gradients[i]);
        const auto start = [&] {
          for (const size_t i : bucket.weights) {
            std::optional<GradientState> g = gradient_state(weights_[i], splits_[i], options_);
            states.push_back(g ? static_cast<int64_t>(p.states.size()) : -1);
            Type none = p.type(gradients[i]);
            if (!g) none.shape[0] = 0;
            const ValueId before =
                g ? p.add_state(std::move(g->state), g->type) : ops::constant(b_, 0, none);
            if (accumulate) sums.push_back(before);
          }
          ops::Split split = split_of(bucket.weights);
          split.copies = options_.copies;
          if (!options_.replica.alone()) {
            split.share = options_.world();
            split.parts = share_.ranks;
          }
          made = ops::fold_units(b_, terms, sums, present, split);
        };
        exchanges_.add(terms, start, [&] {
          for (size_t j = 0; j < made.size(); ++j) {
            const ValueId sum = ops::wait(b_, made[j]);
            if (states[j] >= 0) p.states[static_cast<size_t>(states[j])].next = sum;
          }
        });
      }
  }

  ops::Split split_of(const std::vector<size_t>& weights) const {
    ops::Split split{share_};
    for (const size_t i : weights) {
      split.units.push_back(splits_[i].unit);
      split.owners.push_back(splits_[i].whole ? kEverywhere : splits_[i].owner);
    }
    const auto is = [](int64_t x) { return [x](int64_t y) { return x == y; }; };
    if (std::all_of(split.units.begin(), split.units.end(), is(1))) split.units.clear();
    if (std::all_of(split.owners.begin(), split.owners.end(), is(-1))) split.owners.clear();
    return split;
  }

  // The sum of the squares of this rank's rows of a group, f64[1]. Tensors that several ranks have count
  // on one of them: all of these are added by rank, and a rank takes its own sum, so that the programs of
  // ranks differ in the rows of slices alone.
  void add_squares(const WeightGroup& g) {
    b_.set_scope("clip");
    Values mine;
    std::vector<Values> whole(
        static_cast<size_t>(share_.ranks));  // by the rank on which they count
    bool has_whole = false;
    for (size_t i = g.begin; i < g.end; ++i) {
      if (!weights_[i].in_parts && options_.tensor.rank != 0) continue;
      const int64_t owner = splits_[i].whole ? 0 : splits_[i].owner;
      if (owner >= 0 && !is_cut(i)) {
        whole[static_cast<size_t>(owner)].push_back(reduced_[i]);
        has_whole = true;
      } else if (held_[i].count() > 0) {
        mine.push_back(is_cut(i) ? reduced_[i]
                                 : ops::slice(b_, reduced_[i], 0, held_[i].begin, held_[i].end));
      }
    }
    ValueId sum = ops::reshape(b_, squares_of(mine), {1});
    if (has_whole) {
      const ValueId all = ops::concat(b_, squares_by_rank(whole), 0);
      sum = ops::add(b_, sum, ops::slice(b_, all, 0, share_.rank, share_.rank + 1));
    }
    squares_[static_cast<size_t>(&g - groups_.data())] = sum;
  }
  // Pieces of f64[ranks]: zeros for ranks without tensors.
  Values squares_by_rank(const std::vector<Values>& tensors) {
    Values pieces;
    for (size_t r = 0; r < tensors.size();) {
      size_t end = r;
      while (end < tensors.size() && tensors[end].empty()) ++end;
      const auto none = static_cast<int64_t>(end - r);
      pieces.push_back(none > 0 ? ops::constant(b_, 0.0, {DType::f64, {none}})
                                : ops::reshape(b_, squares_of(tensors[r]), {1}));
      r = std::max(end, r + 1);
    }
    return pieces;
  }
  ValueId squares_of(const Values& tensors) {
    return tensors.empty() ? ops::constant(b_, 0.0, kDouble)
                           : ops::reduce_sum(b_, ops::sum_squares(b_, tensors), {0});
  }

  // The sums of squares of each unit of rows of each weight, in their order on all ranks; the first
  // of each group in `begins`.
  ValueId squares_of_units(std::vector<int64_t>& begins) {
    Values parts(weights_.size()), sent;
    std::vector<int64_t> blocks;
    ops::Split split{share_};
    int64_t all = 0;
    for (size_t i = 0; i < weights_.size(); ++i) {
      const Type& type = weights_[i].type;
      const int64_t unit = splits_[i].unit, rows = type.rank() == 0 ? 1 : type.shape[0];
      Values some;
      for (int64_t row = 0; row < held_[i].count(); row += unit)
        some.push_back(type.rank() == 0 ? reduced_[i]
                                        : ops::slice(b_, reduced_[i], 0, row,
                                                     std::min(row + unit, held_[i].count())));
      parts[i] =
          some.empty() ? ops::constant(b_, 0.0, {DType::f64, {0}}) : ops::sum_squares(b_, some);
      if (std::any_of(groups_.begin(), groups_.end(),
                      [&](const WeightGroup& g) { return g.begin == i; }))
        begins.push_back(all);
      all += (rows + unit - 1) / unit;
      if (splits_[i].whole) continue;
      sent.push_back(parts[i]);
      blocks.push_back((rows + unit - 1) / unit);
      split.owners.push_back(splits_[i].owner);
    }
    begins.push_back(all);
    Values gathered = sent.empty() ? Values() : ops::all_gather(b_, sent, blocks, split);
    size_t next = 0;
    for (size_t i = 0; i < weights_.size(); ++i)
      if (!splits_[i].whole) parts[i] = ops::wait(b_, gathered[next++]);
    return ops::concat(b_, parts, 0);
  }

  void clip() {
    b_.set_scope("clip");
    const auto groups = static_cast<int64_t>(groups_.size());
    std::vector<int64_t> begins;
    ValueId squares = kNoValue;
    if (options_.split_invariant) {
      squares = squares_of_units(begins);
    } else {
      const ValueId mine = groups == 1 ? squares_[0] : ops::concat(b_, squares_, 0);
      const ValueId all =
          ops::wait(b_, gather(ops::reshape(b_, mine, {1, groups}), options_.owners()));
      squares = ops::reduce_sum(b_, all, {0});
      for (int64_t k = 0; k <= groups; ++k) begins.push_back(k);
    }
    const ops::Clip limits =
        ops::clip_scale(b_, squares, loss_scale_, loss_, options_.max_grad_norm);
    norm_ = limits.norm;
    ValueId scale = limits.scale;
    const bool waits_for_all = options_.max_grad_norm > 0 || options_.all_or_nothing;
    if (!waits_for_all) {
      const ValueId one = ops::constant(b_, 1.0, kDouble);
      scale = loss_scale_ == kNoValue ? one : ops::div(b_, one, loss_scale_);
      scale = if_finite(b_, scale, loss_);
    }
    for (size_t k = 0; k < groups_.size(); ++k)
      scale_of_[groups_[k].begin] =
          waits_for_all
              ? scale
              : if_finite(
                    b_, scale,
                    ops::reduce_sum(b_, ops::slice(b_, squares, 0, begins[k], begins[k + 1]), {0}));
  }

  void update_weights(UpdateScalars scalars) {
    current_.assign(weights_.size(), kNoValue);
    const std::vector<Update> updates = updates_of(weights_, here_, groups_, options_);
    std::vector<size_t> on_their_way;  // weights of the group before
    size_t next = 0;
    for (const WeightGroup& g : groups_) {
      for (; next < updates.size() && updates[next].group == g.begin; ++next)
        emit(updates[next], scalars);
      std::vector<size_t> sent = send(g);
      receive(std::exchange(on_their_way, std::move(sent)));
    }
    receive(on_their_way);
    if (options_.ema_decay == 0) return;
    Values scales;
    for (const WeightGroup& g : groups_) scales.resize(g.end, scale_of_.at(g.begin));
    emit_averages(b_, weights_, options_, scalars.step, scales);
  }

  State& state(size_t weight) { return p.states[state_of_.at(weights_[weight].name)]; }
  // This rank's rows of a weight, by now.
  ValueId current(size_t i) {
    if (current_[i] == kNoValue) {
      const ValueId v = state(i).value;
      current_[i] = is_cut(i) ? ops::slice(b_, v, 0, held_[i].begin, held_[i].end) : v;
    }
    return current_[i];
  }

  void emit(const Update& update, UpdateScalars scalars) {
    const Rule rule = rule_of(options_, update.own);
    b_.set_scope(rule.op);
    scalars.g_scale = scale_of_.at(update.group);
    scalars.lr = rate_of(b_, weights_, update, options_, scalars.lr);
    ops::UpdateLists lists = lists_of(weights_, update, rule, options_, scalars);
    for (const size_t i : update.weights) {
      lists.p.push_back(current(i));
      lists.g.push_back(reduced_[i]);
    }
    std::vector<size_t> moments;
    const std::vector<RowRange> held = options_.stage >= 1 ? held_ : std::vector<RowRange>();
    for (Moment& m : moments_of(weights_, update, rule, held)) {
      moments.push_back(p.states.size());
      lists.states.push_back(p.add_state(std::move(m.state), m.type));
    }
    const Values made = ops::update(b_, rule.op, lists, known_attrs(rule.op, options_.attrs));
    for (size_t k = 0; k < update.weights.size(); ++k) {
      const size_t i = update.weights[k];
      current_[i] = made[k];
      if (!is_cut(i)) state(i).next = made[k];
    }
    for (size_t k = 0; k < moments.size(); ++k)
      p.states[moments[k]].next = made[update.weights.size() + k];
  }

  // Sends the new rows of the group's weights to the other ranks; returns these weights.
  std::vector<size_t> send(const WeightGroup& g) {
    std::vector<size_t> sent;
    for (size_t i = g.begin; i < g.end; ++i)
      if (is_cut(i)) sent.push_back(i);
    if (sent.empty()) return sent;
    b_.set_scope("weights." + weights_[sent[0]].name);
    Values parts;
    std::vector<int64_t> rows;
    for (const size_t i : sent) {
      parts.push_back(current(i));
      rows.push_back(weights_[i].type.shape[0]);
    }
    const Values whole = ops::all_gather(b_, parts, rows, split_of(sent));
    for (size_t k = 0; k < sent.size(); ++k) current_[sent[k]] = whole[k];
    return sent;
  }
  void receive(const std::vector<size_t>& sent) {
    for (const size_t i : sent) {
      b_.set_scope("weights." + weights_[i].name);
      state(i).next = ops::wait(b_, current_[i]);
    }
  }

  // Gradients of a group become states, or are added to them.
  void keep(const WeightGroup& g, bool accumulate) {
    for (size_t i = g.begin; i < g.end; ++i) {
      std::optional<GradientState> made = gradient_state(weights_[i], splits_[i], options_);
      if (!made) continue;
      b_.set_scope(weights_[i].name);
      const size_t at = p.states.size();
      const DType kept = made->type.dtype;
      const ValueId before = p.add_state(std::move(made->state), made->type);
      ValueId sum = reduced_[i];
      if (accumulate) {
        const DType wide = kept == DType::f64 ? kept : DType::f32;
        sum = ops::cast(b_, ops::add(b_, ops::cast(b_, before, wide), ops::cast(b_, sum, wide)),
                        kept);
      }
      p.states[at].next = sum;
    }
  }

  Program& p;
  const std::vector<UpdateWeight>& weights_;
  const UpdateOptions& options_;
  const Share share_;
  Builder b_;
  const std::vector<WeightSplit> splits_;
  const std::vector<WeightGroup> groups_;
  std::vector<RowRange> held_;  // by weight: the rows on this rank
  Types here_;                  // by weight: the type of what this rank updates
  Values reduced_;              // by weight: the gradient on this rank
  Values current_;              // by weight
  Values squares_;              // by group
  Exchanges exchanges_;
  std::unordered_map<std::string, size_t> state_of_;
  std::unordered_map<size_t, ValueId> scale_of_;  // by the first weight of a group
  ValueId loss_ = kNoValue, stops_ = kNoValue, norm_ = kNoValue, loss_scale_ = kNoValue;
};

}  // namespace

void share_gradients(Program& program, const std::vector<UpdateWeight>& weights,
                     const UpdateOptions& options, bool accumulate) {
  const Values gradients = take_gradients(program, weights);
  SharedUpdate(program, weights, options).share_gradients(gradients, accumulate);
}

void emit_shared_update(Program& program, const std::vector<UpdateWeight>& weights,
                        const Values& gradients, const UpdateOptions& options, ValueId loss,
                        bool reduced) {
  SharedUpdate(program, weights, options).update(gradients, loss, reduced);
}

TrainPasses::Axis data_axis(const UpdateOptions& options) {
  if (options.share.ranks == options.world().ranks) return {};
  return {options.share.ranks, options.replica.rank * options.owners().ranks + options.tensor.rank,
          options.tensor.ranks};
}

uint64_t collectives_fingerprint(const Program& program) {
  uint64_t h = kFnvBasis;
  for (const Node& n : program.nodes) {
    if (!n.op->traffic) continue;
    h = fnv1a(n.op->name, h);
    // Else parts, whose size depends on the rank.
    const bool are_whole = n.attrs.integer("stride", 1) == 1;
    for (size_t k = 0; k < n.out.size() && are_whole; ++k)
      h = fnv1a(program.type(n.op->gathers ? n.out[k] : n.in[k]).text(), h);
    for (const char* list : {"units", "owners"})
      h = fnv1a(fmt::format("{}", fmt::join(n.attrs.integers(list), ",")), h);
  }
  return h;
}

}  // namespace hone
