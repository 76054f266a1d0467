"""Programs on sequences: language models, translation, classification."""

from __future__ import annotations

import math

import numpy as np

from .registry import Library, Training, batches, program, slower, tokens


@program("LSTM language model, truncated backpropagation with the state kept between calls")
def lstm_lm(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class Model(nn.Module):
        def __init__(self, vocabulary=100, dim=64):
            super().__init__()
            self.embedding, self.lstm = nn.Embedding(vocabulary, dim), nn.LSTM(dim, dim, batch_first=True)
            self.out = nn.Linear(dim, vocabulary)
            self.hidden = None

        def forward(self, x):
            h, hidden = self.lstm(self.embedding(x), self.hidden)
            self.hidden = tuple(s.detach() for s in hidden)
            return self.out(h)

    model = lib.filled(Model())
    optimizer = optim.SGD(model.parameters(), lr=1.0)
    text = tokens(64, 25, 100)

    @lib.compiles
    def step(x, y):
        optimizer.zero_grad()
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, 100), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        return loss, torch.exp(loss)

    return Training(step, batches(lib, text[:, :-1], text[:, 1:], size=16), slower(optimizer))


@program("Elman network in a loop over time, the hidden state a global")
def char_rnn_loop(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    vocabulary, dim = 40, 64
    cell, out = lib.filled(nn.RNNCell(vocabulary, dim)), lib.filled(nn.Linear(dim, vocabulary), 1)
    optimizer = optim.Adagrad([*cell.parameters(), *out.parameters()], lr=0.05)
    state = {"h": torch.zeros(16, dim), "step": 0, "smooth": None}
    text = tokens(64, 21, vocabulary)

    @lib.compiles
    def step(x, y):
        h, loss = state["h"], 0.0
        inputs = F.one_hot(x, vocabulary).float()
        for t in range(x.shape[1]):
            h = cell(inputs[:, t], h)
            loss = loss + F.cross_entropy(out(h), y[:, t])
        optimizer.zero_grad()
        loss.backward()
        for p in cell.parameters():
            p.grad.clamp_(-5, 5)
        optimizer.step()
        state["h"] = h.detach()
        state["step"] += 1
        mean = loss.detach() / x.shape[1]
        state["smooth"] = mean if state["smooth"] is None else 0.9 * state["smooth"] + 0.1 * mean
        return state["smooth"]

    return Training(step, batches(lib, text[:, :-1], text[:, 1:], size=16), slower(optimizer))


@program("GRU encoder and decoder with attention, teacher forcing")
def seq2seq(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class Seq2Seq(nn.Module):
        def __init__(self, vocabulary=60, dim=64):
            super().__init__()
            self.source, self.target = nn.Embedding(vocabulary, dim), nn.Embedding(vocabulary, dim)
            self.encoder, self.decoder = nn.GRU(dim, dim, batch_first=True), nn.GRUCell(2 * dim, dim)
            self.out = nn.Linear(2 * dim, vocabulary)

        def forward(self, source, target):
            memory, h = self.encoder(self.source(source))
            h, logits = h[0], []
            context = torch.zeros_like(h)
            for word in self.target(target).unbind(1):
                h = self.decoder(torch.cat([word, context], 1), h)
                weights = F.softmax(torch.bmm(memory, h.unsqueeze(2)).squeeze(2), dim=1)
                context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
                logits.append(self.out(torch.cat([h, context], 1)))
            return torch.stack(logits, 1)

    model = lib.filled(Seq2Seq())
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=0)

    @lib.compiles
    def step(source, target):
        logits = model(source, target[:, :-1])
        loss = criterion(logits.permute(0, 2, 1), target[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    data = tokens(64, 10, 60), tokens(64, 9, 60, 1)
    return Training(step, batches(lib, *data, size=16), slower(optimizer))


@program("Transformer encoder classifier with a padding mask and Noam schedule")
def transformer(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class Classifier(nn.Module):
        def __init__(self, vocabulary=100, dim=64, length=32):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, dim, padding_idx=0)
            position = torch.arange(length).unsqueeze(1)
            scale = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
            table = torch.zeros(length, dim)
            table[:, 0::2], table[:, 1::2] = torch.sin(position * scale), torch.cos(position * scale)
            self.register_buffer("positions", table)
            layer = nn.TransformerEncoderLayer(dim, 4, 128, dropout=0.0, batch_first=True)
            self.encoder, self.out = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(dim, 4)

        def forward(self, x):
            padding = x == 0
            h = self.embedding(x) * math.sqrt(64) + self.positions[: x.size(1)]
            h = self.encoder(h, src_key_padding_mask=padding)
            kept = (~padding).unsqueeze(-1).float()
            return self.out((h * kept).sum(1) / kept.sum(1).clamp(min=1))

    model = lib.filled(Classifier())
    optimizer = optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    rate = optim.lr_scheduler.LambdaLR(optimizer, lambda i: 64**-0.5 * min((i + 1) ** -0.5, (i + 1) * 40**-1.5) * 0.1)
    x = tokens(64, 32, 100)
    x[:, 24:] *= np.random.default_rng(0).integers(0, 2, (64, 1))

    @lib.compiles
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    def batch(i):
        if i:  # a schedule is stepped after the optimizer
            rate.step()
        return data(i)

    data = batches(lib, x, x[:, 0] % 4, size=16)
    return Training(step, batch, slower(optimizer))


@program("minGPT: causal attention with a mask buffer, weight decay by parameter group")
def mingpt(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class Attention(nn.Module):
        def __init__(self, dim, heads, length):
            super().__init__()
            self.c_attn, self.c_proj, self.heads = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim), heads
            self.register_buffer("bias", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

        def forward(self, x):
            B, T, C = x.size()
            q, k, v = self.c_attn(x).split(C, dim=2)
            q, k, v = (y.view(B, T, self.heads, C // self.heads).transpose(1, 2) for y in (q, k, v))
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            scores = scores.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
            y = F.softmax(scores, dim=-1) @ v
            return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))

    class Block(nn.Module):
        def __init__(self, dim, heads, length):
            super().__init__()
            self.ln_1, self.ln_2, self.attn = nn.LayerNorm(dim), nn.LayerNorm(dim), Attention(dim, heads, length)
            self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(approximate="tanh"), nn.Linear(4 * dim, dim))

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_2(x))

    class GPT(nn.Module):
        def __init__(self, vocabulary=65, dim=64, heads=4, length=32, layers=2):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(vocabulary, dim), nn.Embedding(length, dim)
            self.h = nn.ModuleList([Block(dim, heads, length) for _ in range(layers)])
            self.ln_f, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocabulary, bias=False)

        def forward(self, idx, targets=None):
            pos = torch.arange(0, idx.size(1), dtype=torch.long).unsqueeze(0)
            x = self.wte(idx) + self.wpe(pos)
            for block in self.h:
                x = block(x)
            logits = self.head(self.ln_f(x))
            loss = None
            if targets is not None:
                loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
            return logits, loss

    model = lib.filled(GPT())
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    optimizer = optim.AdamW(groups, lr=5e-4, betas=(0.9, 0.95))
    text = tokens(64, 33, 65)

    @lib.compiles
    def step(x, y):
        logits, loss = model(x, y)
        model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return Training(step, batches(lib, text[:, :-1], text[:, 1:], size=16), slower(optimizer))


@program("temporal convolutional network with dilations and weight normalization")
def tcn(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class Block(nn.Module):
        def __init__(self, c_in, c_out, dilation):
            super().__init__()
            self.padding = 2 * dilation
            self.conv = nn.Conv1d(c_in, c_out, 3, padding=self.padding, dilation=dilation)
            self.shortcut = nn.Conv1d(c_in, c_out, 1) if c_in != c_out else None

        def forward(self, x):
            h = torch.relu(self.conv(x)[:, :, : -self.padding].contiguous())
            return torch.relu(h + (x if self.shortcut is None else self.shortcut(x)))

    model = lib.filled(nn.Sequential(Block(1, 16, 1), Block(16, 16, 2), Block(16, 16, 4), nn.Conv1d(16, 1, 1)))
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    series = np.cumsum(np.random.default_rng(0).normal(0, 0.1, (64, 1, 65)), 2).astype("float32")

    @lib.compiles
    def step(x, y):
        optimizer.zero_grad()
        loss = F.smooth_l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return Training(step, batches(lib, series[..., :-1], series[..., 1:], size=16), slower(optimizer))
