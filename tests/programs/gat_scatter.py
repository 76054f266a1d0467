"""Graph attention over an edge list; softmax per target node by scatter operations."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(2)
rs = np.random.RandomState(2)


def scatter_softmax(scores, index, n):
    """scores: E x H, index: E"""
    expanded = index.unsqueeze(-1).expand_as(scores)
    highest = torch.full((n, scores.size(1)), float('-inf'), dtype=scores.dtype).scatter_reduce(0, expanded, scores.detach(), reduce='amax')
    weights = (scores - highest[index]).exp()
    total = torch.zeros(n, scores.size(1), dtype=scores.dtype, device=scores.device)
    total.scatter_add_(0, expanded, weights)
    return weights / (total.index_select(0, index) + 1e-16)


class GATLayer(nn.Module):
    def __init__(self, d_in, d_out, heads, concat=True, dropout=0.3):
        super().__init__()
        self.heads, self.d_out, self.concat = heads, d_out, concat
        self.proj = nn.Linear(d_in, heads * d_out, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, heads, d_out))
        self.att_dst = nn.Parameter(torch.empty(1, heads, d_out))
        self.bias = nn.Parameter(torch.zeros(heads * d_out if concat else d_out))
        self.leaky = nn.LeakyReLU(0.2)
        self.drop = nn.Dropout(dropout)
        nn.init.xavier_uniform_(self.proj.weight)
        nn.init.xavier_uniform_(self.att_src)
        nn.init.xavier_uniform_(self.att_dst)

    def forward(self, x, edges):
        src, dst = edges
        n = x.size(0)
        h = self.proj(self.drop(x)).view(-1, self.heads, self.d_out)
        a_src, a_dst = (h * self.att_src).sum(-1), (h * self.att_dst).sum(-1)
        alpha = scatter_softmax(self.leaky(a_src[src] + a_dst[dst]), dst, n)
        messages = torch.einsum('ehd,eh->ehd', h[src], self.drop(alpha))
        out = torch.zeros(n, self.heads, self.d_out).index_add_(0, dst, messages)
        out = out.reshape(n, -1) if self.concat else out.mean(1)
        return out + self.bias


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = GATLayer(12, 8, 4)
        self.l2 = GATLayer(32, 5, 2, concat=False)

    def forward(self, x, edges):
        return self.l2(nn.functional.elu(self.l1(x, edges)), edges)


n = 100
labels = rs.randint(0, 5, n)
x = torch.tensor(rs.randn(5, 12)[labels] + rs.randn(n, 12), dtype=torch.float32)
src = rs.randint(0, n, 600)
dst = np.where(rs.rand(600) < 0.6, [rs.choice(np.flatnonzero(labels == labels[s])) for s in src], rs.randint(0, n, 600))
edges = torch.tensor(np.stack([np.r_[src, np.arange(n)], np.r_[dst, np.arange(n)]]))
y = torch.tensor(labels)
train_mask = torch.zeros(n, dtype=torch.bool)
train_mask[torch.randperm(n)[:40]] = True

model = GAT()
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(20):
    model.train()
    opt.zero_grad()
    logits = model(x, edges)
    loss = nn.functional.cross_entropy(logits[train_mask], y[train_mask])
    loss.backward()
    opt.step()
    print(f'loss {loss:.6f}')
model.eval()
with torch.inference_mode():
    print('acc', (model(x, edges).argmax(-1) == y)[~train_mask].float().mean().item() > 0.3)
