import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
PAD, CLS, SEP, MASK, V, L = 0, 1, 2, 3, 40, 16


def get_batch(batch_size=16):
    """A walk of +1 or +2 among the words, padded; 15 % masked as in the paper."""
    ids = torch.full((batch_size, L), PAD)
    labels = torch.full((batch_size, L), -100)
    segments = torch.zeros(batch_size, L, dtype=torch.long)
    for b in range(batch_size):
        n, w = random.randint(8, L), random.randint(4, V - 1)
        seq = [CLS]
        while len(seq) < n - 1:
            w = 4 + (w - 4 + random.choice([1, 2])) % (V - 4)
            seq.append(w)
        seq.append(SEP)
        segments[b, n // 2:n] = 1
        for i, token in enumerate(seq):
            ids[b, i] = token
            if token > MASK and random.random() < 0.15:
                labels[b, i] = token
                r = random.random()
                ids[b, i] = MASK if r < 0.8 else random.randint(4, V - 1) if r < 0.9 else token
    return ids, segments, labels


class MultiHeadAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.query, self.key, self.value, self.dense = (nn.Linear(d, d) for _ in range(4))
        self.drop = nn.Dropout(0.1)

    def transpose_for_scores(self, x):
        return x.view(*x.size()[:-1], self.h, self.dk).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = map(self.transpose_for_scores, (self.query(x), self.key(x), self.value(x)))
        scores = torch.matmul(q, k.transpose(-1, -2)) / self.dk ** 0.5 + mask
        probs = self.drop(nn.Softmax(dim=-1)(scores))
        context = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous()
        return self.dense(context.view(*context.size()[:-2], -1))


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.att, self.n1, self.n2 = MultiHeadAttention(d, h), nn.LayerNorm(d, eps=1e-12), nn.LayerNorm(d, eps=1e-12)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x, mask):
        x = self.n1(x + self.att(x, mask))
        return self.n2(x + self.down(F.gelu(self.up(x))))


class BertMLM(nn.Module):
    def __init__(self, d=32, h=4, layers=2):
        super().__init__()
        self.word = nn.Embedding(V, d, padding_idx=PAD)
        self.pos, self.seg = nn.Embedding(L, d), nn.Embedding(2, d)
        self.norm = nn.LayerNorm(d)
        self.layers = nn.ModuleList(Layer(d, h) for _ in range(layers))
        self.transform = nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.LayerNorm(d))
        self.decoder = nn.Linear(d, V, bias=False)
        self.decoder.weight = self.word.weight
        self.decoder_bias = nn.Parameter(torch.zeros(V))
        self.register_buffer("position_ids", torch.arange(L).expand((1, -1)), persistent=False)

    def forward(self, ids, segments):
        mask = (1.0 - (ids != PAD)[:, None, None, :].to(self.word.weight.dtype)) * torch.finfo(self.word.weight.dtype).min
        x = self.norm(self.word(ids) + self.pos(self.position_ids) + self.seg(segments))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.transform(x)) + self.decoder_bias


model = BertMLM()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
sched = torch.optim.lr_scheduler.SequentialLR(opt, [
    torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=5), torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)], milestones=[5])
criterion = nn.CrossEntropyLoss(ignore_index=-100)
for step in range(15):
    ids, segments, labels = get_batch()
    opt.zero_grad()
    logits = model(ids, segments)
    loss = criterion(logits.view(-1, V), labels.view(-1))
    loss.backward()
    opt.step()
    sched.step()
    print("loss {:.6f}".format(loss.item()))
