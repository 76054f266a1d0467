import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import Counter

corpus = ("the quick brown fox jumps over the lazy dog while the small cat sleeps under the old oak tree and "
          "the dog chases the cat around the tree until the fox comes over the hill to the river") * 4
np.random.seed(17)
torch.manual_seed(17)


class SkipGramModel(nn.Module):
    def __init__(self, emb_size, emb_dimension):
        super(SkipGramModel, self).__init__()
        self.emb_size = emb_size
        self.emb_dimension = emb_dimension
        self.u_embeddings = nn.Embedding(emb_size, emb_dimension, sparse=True)
        self.v_embeddings = nn.Embedding(emb_size, emb_dimension, sparse=True)
        initrange = 1.0 / self.emb_dimension
        nn.init.uniform_(self.u_embeddings.weight.data, -initrange, initrange)
        nn.init.constant_(self.v_embeddings.weight.data, 0)

    def forward(self, pos_u, pos_v, neg_v):
        emb_u = self.u_embeddings(pos_u)
        emb_v = self.v_embeddings(pos_v)
        emb_neg_v = self.v_embeddings(neg_v)

        score = torch.sum(torch.mul(emb_u, emb_v), dim=1)
        score = torch.clamp(score, max=10, min=-10)
        score = -F.logsigmoid(score)

        neg_score = torch.bmm(emb_neg_v, emb_u.unsqueeze(2)).squeeze()
        neg_score = torch.clamp(neg_score, max=10, min=-10)
        neg_score = -torch.sum(F.logsigmoid(-neg_score), dim=1)

        return torch.mean(score + neg_score)

    def most_similar(self, i, k=3):
        w = F.normalize(self.u_embeddings.weight.detach(), dim=1)
        return torch.topk(w @ w[i], k + 1).indices[1:].numpy()


words = corpus.split()
freq = Counter(words)
word2id = {w: i for i, (w, _) in enumerate(sorted(freq.items()))}
ids = [word2id[w] for w in words]
pairs = [(ids[i], ids[j]) for i in range(len(ids)) for j in range(max(0, i - 2), min(len(ids), i + 3)) if i != j]
probs = np.array([freq[w] for w in sorted(freq)]) ** 0.75
probs /= probs.sum()

model = SkipGramModel(len(word2id), 20)
optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)
np.random.shuffle(pairs)
for i, start in enumerate(range(0, 25 * 16, 16)):
    batch = pairs[start:start + 16]
    pos_u = torch.LongTensor([p[0] for p in batch])
    pos_v = torch.LongTensor([p[1] for p in batch])
    neg_v = torch.LongTensor(np.random.choice(len(probs), (len(batch), 5), p=probs))
    optimizer.zero_grad()
    loss = model.forward(pos_u, pos_v, neg_v)
    loss.backward()
    assert model.u_embeddings.weight.grad.is_sparse
    optimizer.step()
    print("loss %.6f" % loss.item())
print(len(model.most_similar(word2id["fox"])))
