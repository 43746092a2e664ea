#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/embedding with sentence-transformers: losses, gradients, folders, evaluators.

    tools/golden_embedding.py

model/               a tiny BERT as a user's folder holds it (config.json, model.safetensors)
losses.json          for each case: loss, options, columns (ids by column and row), labels, steps (row numbers),
                     losses and gradient norms of ten steps of AdamW, embeddings of the first column after them
<case>.safetensors   grad.<name> f32: the gradients of the first step
folders/<name>/      folders that sentence-transformers has saved, and embeddings.json: ids and their embeddings
metrics.json         inputs and numbers of the evaluators
rerank/              a tiny BERT with one label; rerank.json: rows, labels, losses of ten steps for each loss
"""
import json
import pathlib
import shutil

import numpy
import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator, RerankingEvaluator
from sentence_transformers.sentence_transformer.modules import Pooling
from sklearn.metrics import average_precision_score
from transformers import (BertConfig, BertForSequenceClassification, BertModel, T5Config, T5EncoderModel, UMT5Config,
                          UMT5EncoderModel)

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "embedding"
VOCAB, ROWS, STEP_ROWS, STEPS = 40, 12, 4, 10
CONFIG = dict(vocab_size=VOCAB, num_hidden_layers=1, hidden_size=16, num_attention_heads=2, intermediate_size=16,
              max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def wake(model, seed):
    """Norms and biases are not the neutral ones of a fresh model, and gradients do not vanish."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 1:
                parameter.copy_((0.0 if name.endswith("bias") else 1.0) + 0.2 * noise)
            else:
                parameter.copy_(0.3 * noise)
    return model.float().eval()


def make_columns(number, generator):
    def text():
        length = int(torch.randint(2, 9, (1,), generator=generator))
        return torch.randint(1, VOCAB, (length,), generator=generator).tolist()
    return [[text() for _ in range(ROWS)] for _ in range(number)]


def features(texts):
    longest = max(map(len, texts))
    ids = torch.tensor([t + [0] * (longest - len(t)) for t in texts])
    mask = torch.tensor([[1] * len(t) + [0] * (longest - len(t)) for t in texts])
    return {"input_ids": ids, "attention_mask": mask}


class Embedder(torch.nn.Module):
    """What the losses ask of a SentenceTransformer: features in, sentence_embedding out."""

    def __init__(self, bert, modules):
        super().__init__()
        self.bert, self.rest = bert, torch.nn.ModuleList(modules)

    def forward(self, f):
        f = dict(f, token_embeddings=self.bert(**f).last_hidden_state)
        for module in self.rest:
            f = module(f)
        return f

    def get_embedding_dimension(self):
        return 16

    get_sentence_embedding_dimension = get_embedding_dimension


def loss_of(name, model, options):
    options = dict(options)
    dims, weights = options.pop("matryoshka_dims", None), options.pop("matryoshka_weights", None)
    distance = options.pop("distance", None)
    if distance is not None:
        kind = losses.TripletDistanceMetric if name == "TripletLoss" else losses.SiameseDistanceMetric
        if name != "TripletLoss" and distance == "cosine":
            distance = "cosine_distance"
        options["distance_metric"] = getattr(kind, distance.upper())
    if name == "TripletLoss" and "margin" in options:
        options["triplet_margin"] = options.pop("margin")
    loss = getattr(losses, name)(model, **options)
    return loss if dims is None else losses.MatryoshkaLoss(model, loss, dims, weights)


CASES = {
    "ranking_pairs": dict(loss="MultipleNegativesRankingLoss", columns=2),
    "ranking_triplets": dict(loss="MultipleNegativesRankingLoss", columns=3, options=dict(scale=10.0), normalize=True),
    "cosent": dict(loss="CoSENTLoss", columns=2, labels="scores", pooling="cls"),
    "cosine_similarity": dict(loss="CosineSimilarityLoss", columns=2, labels="scores", pooling="max"),
    "triplet": dict(loss="TripletLoss", columns=3, pooling="lasttoken"),
    "triplet_cosine": dict(loss="TripletLoss", columns=3, options=dict(distance="cosine", margin=0.5)),
    "triplet_manhattan": dict(loss="TripletLoss", columns=3, options=dict(distance="manhattan", margin=2.0)),
    "contrastive": dict(loss="ContrastiveLoss", columns=2, labels="classes"),
    "contrastive_euclidean": dict(loss="ContrastiveLoss", columns=2, labels="classes",
                                  options=dict(distance="euclidean", margin=4.0)),
    "online_contrastive": dict(loss="OnlineContrastiveLoss", columns=2, labels="halves", options=dict(margin=1.5),
                               pooling="mean_sqrt_len_tokens"),
    "matryoshka_ranking": dict(loss="MultipleNegativesRankingLoss", columns=2, normalize=True,
                               options=dict(matryoshka_dims=[16, 8, 4])),
    "matryoshka_cosent": dict(loss="CoSENTLoss", columns=2, labels="scores",
                              options=dict(matryoshka_dims=[4, 16], matryoshka_weights=[0.5, 2.0])),
}


def labels_of(kind, generator):
    if kind is None:
        return None
    if kind in ("classes", "halves"):
        return [int(i % (3 if kind == "classes" else 2) == 0) for i in range(ROWS)]
    return [round(float(x), 3) for x in torch.rand(ROWS, generator=generator)]


def rows_of_steps():
    return [[(step * STEP_ROWS + i * 5) % ROWS for i in range(STEP_ROWS)] for step in range(STEPS)]


def train(model, parameters, loss_of_rows):
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.0)
    found, norms, first = [], [], {}
    for step, rows in enumerate(rows_of_steps()):
        optimizer.zero_grad()
        loss = loss_of_rows(rows)
        loss.backward()
        if step == 0:
            first = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
        norms.append(float(torch.nn.utils.clip_grad_norm_(parameters, 1e9)))
        found.append(loss.item())
        optimizer.step()
    return found, norms, first


def golden_losses():
    bert = wake(BertModel(BertConfig(**CONFIG)), 7)
    bert.save_pretrained(ROOT / "model")
    out = {}
    for number, (case, how) in enumerate(CASES.items()):
        generator = torch.Generator().manual_seed(100 + number)
        torch.manual_seed(0)
        own = BertModel.from_pretrained(ROOT / "model").eval()
        pooling = how.get("pooling", "mean")
        model = Embedder(own, [Pooling(16, pooling)] + ([Normalize()] if how.get("normalize") else []))
        columns, labels = make_columns(how["columns"], generator), labels_of(how.get("labels"), generator)
        loss = loss_of(how["loss"], model, how.get("options", {}))

        def loss_of_rows(rows):
            wanted = torch.tensor([labels[r] for r in rows]) if labels else torch.zeros(len(rows))
            return loss([features([c[r] for r in rows]) for c in columns], wanted)
        found, norms, first = train(own, list(model.parameters()), loss_of_rows)
        save_file({"grad." + n: g.contiguous() for n, g in first.items()}, ROOT / f"{case}.safetensors")
        after = model(features(columns[0]))["sentence_embedding"].tolist()
        out[case] = dict(loss=how["loss"], pooling=pooling, normalize=bool(how.get("normalize")),
                         options=how.get("options", {}), columns=columns, labels=labels, steps=rows_of_steps(),
                         losses=found, grad_norms=norms, after=after)
    write_json(ROOT / "losses.json", out)


def golden_folders():
    torch.manual_seed(3)
    generator = torch.Generator().manual_seed(9)
    texts = make_columns(1, generator)[0][:5]
    folders = {
        "mean_normalize": [Pooling(16, "mean"), Normalize()],
        "cls_dense": [Pooling(16, "cls"), Dense(16, 6, activation_function=torch.nn.Tanh())],
        "two_modes": [Pooling(16, ("cls", "mean")), Dense(32, 8, bias=False, activation_function=torch.nn.Identity()),
                      Normalize()],
    }
    tokenizer = ROOT / "tokenizer"
    tokenizer.mkdir(parents=True, exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{i}" for i in range(VOCAB - 5)]
    (tokenizer / "vocab.txt").write_text("\n".join(words) + "\n")
    for name, modules in folders.items():
        whole = SentenceTransformer(str(ROOT / "model"), device="cpu",
                                    tokenizer_kwargs=dict(vocab_file=str(tokenizer / "vocab.txt")))
        folder = ROOT / "folders" / name
        shutil.rmtree(folder, ignore_errors=True)
        model = SentenceTransformer(modules=[whole[0], *modules], device="cpu",
                                    prompts={"query": "find: ", "document": ""})
        model.max_seq_length = 32
        model.save_pretrained(str(folder), create_model_card=False)
        for unwanted in folder.glob("tokenizer*"):
            unwanted.unlink()
        with torch.no_grad():
            embedder = Embedder(whole[0].model, modules).eval()
            wanted = embedder(features(texts))["sentence_embedding"]
        write_json(folder / "embeddings.json", dict(ids=texts, embeddings=wanted.tolist()))
    shutil.rmtree(tokenizer)


def golden_t5_folders():
    """Encoders of T5 and UMT5 under the modules of mean_normalize."""
    texts = make_columns(1, torch.Generator().manual_seed(9))[0][:5]
    sizes = dict(vocab_size=VOCAB, d_model=16, d_kv=8, d_ff=24, num_heads=2, num_layers=2, dropout_rate=0.0,
                 relative_attention_num_buckets=8, feed_forward_proj="gated-gelu")
    for name, kind, config in (("t5", T5EncoderModel, T5Config), ("umt5", UMT5EncoderModel, UMT5Config)):
        folder = ROOT / "folders" / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ROOT / "folders" / "mean_normalize", folder)
        model = wake(kind(config(**sizes)), 11)
        model.save_pretrained(folder)
        with torch.no_grad():
            wanted = Embedder(model, [Pooling(16, "mean"), Normalize()]).eval()(features(texts))["sentence_embedding"]
        write_json(folder / "embeddings.json", dict(ids=texts, embeddings=wanted.tolist()))


class Fixed:
    """A model whose embeddings are given: texts are numbers of rows."""

    def __init__(self, vectors):
        self.vectors, self.similarity_fn_name = torch.tensor(vectors, dtype=torch.float32), "cosine"
        self.model_card_data = self

    def set_evaluation_metrics(self, *args, **kwargs):
        pass

    def encode(self, texts, **kwargs):
        return self.vectors[[int(t) for t in texts]]

    encode_query = encode_document = encode

    def similarity(self, a, b):
        a, b = torch.nn.functional.normalize(a, dim=-1), torch.nn.functional.normalize(b, dim=-1)
        return a @ b.T


def golden_metrics():
    generator = numpy.random.default_rng(5)
    vectors = numpy.round(generator.normal(size=(40, 4)), 2).tolist()
    vectors[20] = vectors[21]  # equal scores
    model = Fixed(vectors)
    queries = {str(i): str(i) for i in range(6)}
    corpus = {f"d{i:02}": str(i) for i in range(6, 40)}
    names = list(corpus)
    relevant = {q: set(generator.choice(names, size=1 + i % 4, replace=False).tolist())
                for i, q in enumerate(queries)}
    retrieval = InformationRetrievalEvaluator(queries, corpus, relevant, write_csv=False)(model)
    samples = [dict(query=str(i), positive=[str(10 + i), str(17 + i)][: 1 + i % 2],
                    negative=[str(20 + k) for k in range(2 + i)]) for i in range(6)]
    reranking = RerankingEvaluator(samples, at_k=10, similarity_fct=model.similarity, write_csv=False)(model)
    scores = numpy.round(generator.normal(size=30), 1).tolist()
    answers = [int(x) for x in generator.integers(0, 2, size=30)]
    write_json(ROOT / "metrics.json", dict(
        vectors=vectors, corpus=names, relevant={q: sorted(r) for q, r in relevant.items()},
        retrieval={k.removeprefix("cosine_"): float(v) for k, v in retrieval.items()},
        samples=samples, reranking={k: float(v) for k, v in reranking.items()},
        scores=scores, answers=answers, average_precision=float(average_precision_score(answers, scores))))


def golden_rerank():
    from sentence_transformers import CrossEncoder
    from sentence_transformers.cross_encoder import losses as cross

    class Pairs(CrossEncoder):
        """Ids of pairs in place of texts."""

        def __init__(self, bert):
            torch.nn.Module.__init__(self)
            self.bert = bert

        num_labels = property(lambda self: self.bert.config.num_labels)
        device = property(lambda self: torch.device("cpu"))

        def preprocess(self, pairs, **kwargs):
            return features([a + b for a, b in pairs])

        def forward(self, f):
            return {"scores": self.bert(**f).logits}

    out = {}
    cases = {"BinaryCrossEntropyLoss": (2, "classes", dict(pos_weight=torch.tensor(3.0)), 1),
             "MSELoss": (2, "scores", {}, 1), "CrossEntropyLoss": (2, "classes", {}, 2),
             "MarginMSELoss": (4, "margins", {}, 1)}
    for number, (name, (columns, kind, options, labels)) in enumerate(cases.items()):
        generator = torch.Generator().manual_seed(300 + number)
        torch.manual_seed(0)
        bert = wake(BertForSequenceClassification(BertConfig(**CONFIG, num_labels=labels)), 11)
        folder = f"rerank/{labels}"
        bert.save_pretrained(ROOT / folder)
        model = Pairs(bert)
        texts = make_columns(columns, generator)
        wanted = (torch.rand(ROWS, columns - 1, generator=generator).round(decimals=3).tolist() if kind == "margins"
                  else labels_of(kind, generator))
        loss = getattr(cross, name)(model, **options)

        def loss_of_rows(rows):
            y = torch.tensor([wanted[r] for r in rows])
            return loss([[c[r] for r in rows] for c in texts], y)
        found, norms, _ = train(bert, list(bert.parameters()), loss_of_rows)
        out[name] = dict(folder=folder, columns=texts, labels=wanted, steps=rows_of_steps(), losses=found,
                         grad_norms=norms, pos_weight=3.0 if options else 1.0)
    write_json(ROOT / "rerank.json", out)


if __name__ == "__main__":
    golden_losses()
    golden_folders()
    golden_t5_folders()
    golden_metrics()
    golden_rerank()
